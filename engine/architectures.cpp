#include "architectures.h"

#include "conditional/conditional_model.h"
#include "fully_connected/fully_connected_model.h"
#include "recurrent/recurrent_model.h"
#include "transformer/transformer_model.h"

namespace nmt {

std::unique_ptr<Model> open_model(const std::string& path) {
  static const std::string kFormat = "nmt-frontier-native-1";
  auto file = std::make_unique<SafeTensors>(path);
  if (file->metadata("format") != kFormat) file->fail("its format is not " + kFormat);
  const std::string architecture = file->metadata("architecture");
  if (architecture == "transformer") return std::make_unique<TransformerModel>(std::move(file));
  if (architecture == "recurrent") return std::make_unique<RecurrentModel>(std::move(file));
  if (architecture == "conditional") return std::make_unique<ConditionalModel>(std::move(file));
  if (architecture == "fully-connected") return std::make_unique<FullyConnectedModel>(std::move(file));
  file->fail("its architecture '" + architecture + "' is unknown to this version of the engine");
}

}  // namespace nmt
