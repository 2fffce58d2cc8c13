package child

import "syscall"

// endWithUs ends the program when memtrix dies, however: an installation that went on
// alone would write into the folder that the next memtrix makes anew.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
