"""The devices that a training runs on."""

from common import cuda_libraries, gpu_lease
from common.errors import UserError


def use_devices(device: str, count: int) -> None:
    """Show TensorFlow ``count`` GPUs, or so many CPU devices that share the cores, and nothing else.

    It waits for GPUs that other jobs use. Call it before TensorFlow is imported. Raises UserError if ``cuda`` is asked
    for and there are not so many GPUs.
    """
    if device == "cuda":
        gpu_lease.lease(count)
        cuda_libraries.load(cuda_libraries.TENSORFLOW)  # TensorFlow looks for them when it is imported, and never again
    import tensorflow as tf

    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
        return
    found = len(tf.config.list_physical_devices("GPU"))
    if not found:
        raise UserError(
            "training.device: cuda, but TensorFlow finds no GPU; install requirements-gpu.lock (docs/cluster.md), look "
            "at nvidia-smi, or train with device: cpu"
        )
    if found < count:
        raise UserError(
            f"training.gpus: {count}, but TensorFlow finds {found} here; for the same updates train with gpus: {found} "
            f"and {count / found:g} times the accumulate"
        )
