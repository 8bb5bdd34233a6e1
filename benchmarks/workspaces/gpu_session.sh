#!/bin/bash
# usage: gpu_session.sh OUT
O=/tmp/o; mkdir -p $O
export PYTHONUNBUFFERED=1
nvidia-smi > $O/smi.txt; ldd --version | head -1 >> $O/smi.txt; which cmake gcc >> $O/smi.txt
( export PYTHONPATH=src:build/vendor VERITASEST_LIB=$PWD/build/devlib; time timeout 120 python3 benchmarks/untouched_gpu.py --jobs gpt_s resnet50 --output $O/untouched.jsonl ) > $O/untouched.log 2>&1
for r in rnn legacy fft solver; do ( timeout 110 python3 benchmarks/workspaces/record_$r.py $O > $O/$r.log 2>&1 ) & done; wait
timeout 150 python3 benchmarks/workspaces/record_convs.py $O > $O/convs.log 2>&1
gcc -O2 -shared -fPIC -o /tmp/loga.so benchmarks/workspaces/log_addresses.c -ldl
run() { n=$1; shift; LOG_ADDRESSES=$O/addr_$n.jsonl LD_PRELOAD=/tmp/loga.so timeout 100 python3 benchmarks/jobs/truth_job.py "$@" > $O/addr_$n.log 2>&1 & }
run gpts --model gpt_s --bs 8 --opt adamw; run r50 --model resnet50 --bs 32 --opt sgd; run vgg --model vgg16 --bs 32 --opt adam; run unet --model unet --bs 16 --opt adam
wait
run conv --model convnext_tiny --bs 32 --opt adam; run bert --model hf:bert --bs 4 --opt adamw; run gptsb --model gpt_s --bs 8 --opt adamw --prec bf16; run r50b --model resnet50 --bs 32 --opt sgd --prec bf16; run mlp --model mlp --bs 16 --opt rmsprop --prec fp16
wait
tar czf $1/all.tgz -C $O .
ls -la $O; tail -3 $O/*.log; cat $O/untouched.jsonl
