package isolation

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Security descriptors for paths that low integrity processes may write: a directory with its contents, and a file.
const (
	lowDirectory = "S:(ML;OICI;NW;;;LW)"
	lowFile      = "S:(ML;;NW;;;LW)"
)

// allowLowIntegrity lets processes at low integrity write to a file or tree, without changing its access list.
func allowLowIntegrity(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	label := lowFile
	if info.IsDir() {
		label = lowDirectory
	}
	descriptor, err := windows.SecurityDescriptorFromString(label)
	if err != nil {
		return fmt.Errorf("describe a low integrity label: %w", err)
	}
	list, _, err := descriptor.SACL()
	if err != nil {
		return fmt.Errorf("describe a low integrity label: %w", err)
	}
	err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.LABEL_SECURITY_INFORMATION, nil, nil, nil,
		list)
	if err != nil {
		return fmt.Errorf("label %s: %w", path, err)
	}
	return nil
}
