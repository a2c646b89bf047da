: "${DGXNGPU:=8}"
export DGXNGPU
export MICRO_BATCH_SIZE=2   # the config that sources this file sets its own
export FP8=True
WORLD=$((DGXNNODES * DGXNGPU))
[[ $WORLD -gt 64 ]] && export TP_COMM_OVERLAP=True
