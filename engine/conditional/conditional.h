// The steps of a recurrent model with a conditional decoder.
#pragma once

#include "conditional/attending.h"
#include "conditional/conditional_model.h"

namespace nmt {

class Conditional : public Attending {
 public:
  explicit Conditional(const ConditionalModel& model);

  Inputs step(const Step* rows, int count) override;

 private:
  const ConditionalModel& model_;
  std::vector<int32_t> pieces_;          // of the rows of a step
  std::vector<const float*> inputs_;     // input products of a cell's rows
  Buffer<float> last_, parts_, hidden_;  // last_: embeddings of the pieces
};

}  // namespace nmt
