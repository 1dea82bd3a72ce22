package undo

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// fileIdentity returns the volume and index of a file. It returns "" for a symlink or a file that can't be opened.
func fileIdentity(info fs.FileInfo, open func() (*os.File, error)) FileIdentity {
	if info.Mode()&fs.ModeSymlink != 0 {
		return ""
	}
	f, err := open()
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	var about windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &about) != nil {
		return ""
	}
	return FileIdentity(fmt.Sprintf("%x:%x:%x", about.VolumeSerialNumber, about.FileIndexHigh, about.FileIndexLow))
}
