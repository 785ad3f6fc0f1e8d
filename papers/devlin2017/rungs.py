"""The rows of ``identities``: the keys of their places that its report needs."""

ALONE = "alone"  # the way of those that are no rung of the ladder
POLYNOMIALS = "polynomials"  # alone the baseline of the other ways
TOGETHER = "equal_states"  # the paper's last rung
