package isolation

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// disableMaxPrivilege removes all privileges from a token except the one to traverse directories.
const disableMaxPrivilege = 0x1

// keptGroups are the groups a restricted process keeps, in addition to its user.
var keptGroups = []windows.WELL_KNOWN_SID_TYPE{
	windows.WinWorldSid, windows.WinBuiltinUsersSid, windows.WinAuthenticatedUserSid, windows.WinRestrictedCodeSid,
}

// newRestrictedToken returns a copy of this process's token at low integrity, without privileges and the
// administrators' group.
func newRestrictedToken() (windows.Token, error) {
	var own windows.Token
	const access = windows.TOKEN_DUPLICATE | windows.TOKEN_QUERY | windows.TOKEN_ASSIGN_PRIMARY | windows.TOKEN_ADJUST_DEFAULT
	if err := windows.OpenProcessToken(windows.CurrentProcess(), access, &own); err != nil {
		return 0, fmt.Errorf("open this process's token: %w", err)
	}
	defer func() { _ = own.Close() }()
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return 0, fmt.Errorf("name the administrators' group: %w", err)
	}
	restricting, err := restrictingSIDs(own)
	if err != nil {
		return 0, err
	}
	disabled := []windows.SIDAndAttributes{{Sid: admins}}
	var token windows.Token
	ok, _, callErr := windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken").Call(
		uintptr(own), disableMaxPrivilege,
		uintptr(len(disabled)), uintptr(unsafe.Pointer(&disabled[0])),
		0, 0,
		uintptr(len(restricting)), uintptr(unsafe.Pointer(&restricting[0])),
		uintptr(unsafe.Pointer(&token)))
	if ok == 0 {
		return 0, fmt.Errorf("make a restricted token: %w", callErr)
	}
	if err := lowerIntegrity(token); err != nil {
		_ = token.Close()
		return 0, err
	}
	return token, nil
}

// restrictingSIDs returns the restricting SIDs of a restricted token. Windows grants a right only if one of these SIDs
// also has it.
func restrictingSIDs(token windows.Token) ([]windows.SIDAndAttributes, error) {
	user, err := token.GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("find this process's user: %w", err)
	}
	ids := []windows.SIDAndAttributes{{Sid: user.User.Sid}}
	for _, kind := range keptGroups {
		id, sidErr := windows.CreateWellKnownSid(kind)
		if sidErr != nil {
			return nil, fmt.Errorf("name everybody's groups: %w", sidErr)
		}
		ids = append(ids, windows.SIDAndAttributes{Sid: id})
	}
	groups, err := token.GetTokenGroups()
	if err != nil {
		return nil, fmt.Errorf("list this process's groups: %w", err)
	}
	for _, group := range groups.AllGroups() { // the logon session's own, for its windows and pipes
		if group.Attributes&windows.SE_GROUP_LOGON_ID == windows.SE_GROUP_LOGON_ID {
			ids = append(ids, windows.SIDAndAttributes{Sid: group.Sid})
		}
	}
	return ids, nil
}

func lowerIntegrity(token windows.Token) error {
	low, err := windows.CreateWellKnownSid(windows.WinLowLabelSid)
	if err != nil {
		return fmt.Errorf("name the low integrity level: %w", err)
	}
	label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: low, Attributes: windows.SE_GROUP_INTEGRITY}}
	if err := windows.SetTokenInformation(token, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)),
		label.Size()); err != nil {
		return fmt.Errorf("lower the integrity level: %w", err)
	}
	return nil
}

// readTokenRestriction reads the restrictions of a token.
func readTokenRestriction(token windows.Token) (r processRestriction, err error) {
	if r.restricted, err = token.IsRestricted(); err != nil {
		return r, fmt.Errorf("find out whether a token is restricted: %w", err)
	}
	integrity, err := readTokenInformation(token, windows.TokenIntegrityLevel)
	if err != nil {
		return r, err
	}
	level := (*windows.Tokenmandatorylabel)(unsafe.Pointer(&integrity[0])).Label.Sid
	r.integrity = level.SubAuthority(uint32(level.SubAuthorityCount()) - 1)
	privileges, err := readTokenInformation(token, windows.TokenPrivileges)
	if err != nil {
		return r, err
	}
	r.privileges = int((*windows.Tokenprivileges)(unsafe.Pointer(&privileges[0])).PrivilegeCount)
	groups, err := token.GetTokenGroups()
	if err != nil {
		return r, fmt.Errorf("list the groups of a token: %w", err)
	}
	r.admin = slices.ContainsFunc(groups.AllGroups(), func(g windows.SIDAndAttributes) bool {
		return g.Sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) && g.Attributes&windows.SE_GROUP_ENABLED != 0
	})
	return r, nil
}

// readTokenInformation reads information of one class from a token.
func readTokenInformation(token windows.Token, class uint32) ([]byte, error) {
	var size uint32
	_ = windows.GetTokenInformation(token, class, nil, 0, &size) // fails, and says how much there is
	info := make([]byte, max(size, uint32(unsafe.Sizeof(windows.Tokenmandatorylabel{}))))
	if err := windows.GetTokenInformation(token, class, &info[0], uint32(len(info)), &size); err != nil {
		return nil, fmt.Errorf("read a token: %w", err)
	}
	return info, nil
}

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
