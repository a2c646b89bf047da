# The model of train.sh.
MODEL=(
    --num-layers 24
    --hidden-size 2048 --num-attention-heads 16
    --group-query-attention --num-query-groups 4
    --swiglu --normalization RMSNorm --disable-bias-linear
    --position-embedding-type rope --max-position-embeddings 4096
    --untie-embeddings-and-output-weights
    --attention-dropout 0 --hidden-dropout 0
    --seq-length 4096 --vocab-size 32000
    --transformer-impl transformer_engine
)
