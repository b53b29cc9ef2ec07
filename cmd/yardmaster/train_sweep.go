package main

import "github.com/spf13/cobra"

func newTrainSweep() *cobra.Command { return &cobra.Command{Use: "sweep"} }
