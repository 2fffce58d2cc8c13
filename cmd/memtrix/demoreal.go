package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"memtrix"
	"memtrix/matrix"
	"memtrix/workflows"
)

// real turns the demonstration into one on a real ComfyUI: four settings, SD 1.5
// at the smallest useful size, and a stand-in for the model where there is none.
// The stand-in goes into the results folder: nothing of the user's is written.
func (c *demoCmd) real(demo *matrix.Spec) (*matrix.Spec, error) {
	device := (&specFlags{}).device()
	s := matrix.FirstLook(c.ComfyUI, c.Python, "sd15", device)
	if c.ComfyUI == "" {
		v := versionFlags{Version: c.Version, Source: c.Source, Wheels: c.Wheels}
		v.apply(s, c.Python)
	}
	s.Name = demo.Name
	size := 512
	if device == "cpu" {
		size = 64
		s.Settings = matrix.SettingsEntry{
			Base: memtrix.Settings{"device": "cpu"},
			Mode: matrix.OneFlip,
			Axes: []matrix.Axis{
				{Setting: "cache", Values: []string{"none"}},
				{Setting: "smart-memory", Values: []string{"off"}},
				{Setting: "unet-dtype", Values: []string{"bf16"}},
			},
		}
	} else {
		s.Settings = demo.Settings
	}
	for path, value := range map[string]int{"EmptyLatentImage.width": size, "EmptyLatentImage.height": size, "KSampler.steps": 2} {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		s.Workflows[0].Set = append(s.Workflows[0].Set, matrix.Assignment{Path: path, Value: data})
	}
	return s, nil
}

// standIn writes a stand-in checkpoint, unless the tree has one of that name, and
// returns the models folder that holds it.
func (c *demoCmd) standIn(family string) (string, error) {
	name := family + ".safetensors"
	if c.ComfyUI != "" && exists(filepath.Join(c.ComfyUI, "models", "checkpoints", name)) {
		return "", nil
	}
	models, err := filepath.Abs(filepath.Join(c.Results, "models"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(models, "checkpoints", name)
	if exists(path) {
		return models, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the stand-in model: %w", err)
	}
	if err := workflows.WriteStandIn(path, family, "fp16"); err != nil {
		return "", fmt.Errorf("write a stand-in for %s: %w", name, err)
	}
	return models, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
