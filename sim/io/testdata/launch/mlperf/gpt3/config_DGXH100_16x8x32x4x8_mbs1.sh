export MINIBS=32
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=8
export DGXNNODES=16
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//')
source $(dirname ${BASH_SOURCE[0]})/config_shared.sh
export MICRO_BATCH_SIZE=1
