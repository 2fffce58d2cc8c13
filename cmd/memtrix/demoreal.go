package main

import (
	"encoding/json"

	"memtrix"
	"memtrix/matrix"
)

// real turns the demonstration into one on a real ComfyUI: four settings, SD 1.5
// at the smallest useful size (its model is a stand-in where there is none).
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
