// Package comfysim is a simulated ComfyUI: a server with ComfyUI's real HTTP,
// WebSocket and log behaviour, for demonstrations and tests on machines that
// have no GPU, no Python and no models.
//
// It computes, it does not play back: a small executor walks the API-format
// graph, a memory model decides what every node allocates, and a card and a
// host carry it. So settings and workflows that nobody recorded behave
// plausibly too. How well it agrees with recordings of the real program is
// what conformance_test.go checks.
//
// It refuses to be mistaken for a measurement. The card calls itself
// "Simulated GPU (comfysim)" in the log and in /system_stats, under --cpu the
// device is "cpu : simulated (comfysim)", the first line of the log says so,
// and every image it writes carries a text chunk "simulated".
//
// # What is real and what is not
//
// RAM is really touched: anonymous pages for host copies, pinned buffers and
// images, a mapping of the model file for what the real loader maps, shared
// pages for CUDA's own staging buffers. /proc shows them as RssAnon, RssFile
// and RssShmem of this process, and a cgroup limit acts on them. VRAM exists
// only in a file (memtrix.SimCardFile): total, used, reserved. No image is
// computed: what is saved is a small gradient.
//
// # The memory model (all figures at 1024x1024, fitted to recordings)
//
//   - The CUDA context takes 524 MiB at start; the first work on the card adds
//     270 MiB of libraries' workspaces.
//   - A model's sizes come from its safetensors header: the tensors of the
//     diffusion model, the text encoder and the VAE, at the dtype they run in.
//   - Sampling needs 112 MiB + 240 MiB for each image and megapixel (16 bit;
//     twice that in 32 bit); the positive and the negative condition count as two
//     images when ComfyUI's own estimate says that both fit at once.
//   - VAE decoding needs 1451 MiB for each image and megapixel (16 bit), and
//     takes up to 1025 MiB more as workspace when there is room. Does the first
//     part not fit, it warns and decodes in tiles; does that not fit either, it
//     is out of memory.
//   - Estimate mode (no dynamic VRAM) follows ComfyUI's own arithmetic: a budget
//     of free memory minus max(0.8 GiB + reserve, what the work asks for); other
//     models are moved out, wholly or in part, until 1.1 x size + that fits.
//     The model file is mapped while it is copied to anonymous memory, so RAM
//     holds it twice for a moment. What moves to the card gives back 64 % of its
//     host memory to the system (the rest is the allocator's); what moves back
//     needs new pages, all of them the first time and 60 % the second.
//   - Dynamic VRAM: weights fill the card up to 128 MiB below what is free (or
//     below what --reserve-vram leaves of the capacity, or --vram-headroom of
//     what is free) and are thrown out, oldest model first, in pages of 32 MiB,
//     when activations need room. Weights that do not fit are pinned in RAM on
//     0.29 (anonymous pages) unless --disable-pinned-memory. On 0.18 the file
//     stays mapped; on 0.29 it goes through a buffer.
//   - On the CPU weights run in 32 bit: the file is mapped while they are
//     converted.
//
// # Scale and speed
//
// --sim-scale multiplies what the two meters show: bytes of RAM that are
// touched, and the numbers in the card's file. The model itself, and all texts
// that it prints or answers (log, errors, /system_stats), stay unscaled: they
// are consistent with each other and with --sim-card. --sim-ram-scale sets the
// factor for RAM alone, for a demonstration that shows a whole card and touches
// little. --sim-speed divides all waiting; seconds in the log are simulated
// seconds.
//
// --sim-leak and --sim-leak-vram are bytes that every prompt leaves behind for ever,
// in RAM and on the card; they are what the meters show, whatever the scale.
//
// # The invented version
//
// "0.29.1-demo" does not exist. It is 0.29.0 with two invented regressions:
//
//   - in estimate mode with NORMAL_VRAM the sampler's activations need 3.5 times
//     as much, so an SDXL at 1024x1024 that leaves 1.7 GiB free on a card of
//     8 GiB is out of memory in KSampler as soon as dynamic VRAM is off
//     (--lowvram and the other modes are not touched);
//   - with dynamic VRAM and pinned memory on, weights are pinned in RAM although
//     they fit on the card, and stay pinned: RAM peaks higher by the size of the
//     model.
package comfysim
