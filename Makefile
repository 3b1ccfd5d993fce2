# The front door: every target is an alias of what a person could type.
.DEFAULT_GOAL := help
.PHONY: help demo crash test quick check format bench clean

help:    ## list the targets
	@sed -n 's/^\([a-z]*\): *## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo:    ## set up, build and show the main job: three million flights into a table, one writer killed
	@tools/setup
	@cmake --preset release
	@cmake --build --preset release --target lake
	@build/release/lake demo

crash:   ## set up, build and kill the program ROUNDS=200 times over, at every failpoint and at random; SEED=n for the same choices
	@tools/setup
	@cmake --preset release
	@cmake --build --preset release --target lake
	@.venv/bin/python tests/crash/crash.py --rounds $(or $(ROUNDS),200) $(if $(SEED),--seed $(SEED))

test:    ## set up, build and run every test that CI runs
	@tools/test

quick:   ## the unit tests and the lint, after a debug build
	@tools/setup
	@cmake --preset dev
	@cmake --build --preset dev
	@ctest --preset dev --label-regex 'fast|lint'

check:   ## everything in test, with clang-tidy on every file
	@tools/test --tidy=all

format:  ## format every C++ file in place
	@git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 -i

bench:   ## set up, build and run the benchmarks; the results also go to build/bench
	@tools/setup
	@cmake --preset release
	@cmake --build --preset release --target lake benches
	@tools/bench

clean:   ## remove what was built, but not what tools/setup installed
	@rm -rf build
