// The child is a static program that does one thing inside a sandbox and says
// what happened.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "child: no verb")
		os.Exit(2)
	}
	verb, args := os.Args[1], os.Args[2:]
	do, ok := verbs[verb]
	if !ok {
		fmt.Fprintln(os.Stderr, "child: unknown verb", verb)
		os.Exit(2)
	}
	if err := do(args); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

var verbs = map[string]func([]string) error{
	"env":     func([]string) error { fmt.Println(strings.Join(os.Environ(), "\n")); return nil },
	"at":      at,
	"append":  func(args []string) error { return appendTo(args[0]) },
	"echo":    echo,
	"again":   again,
	"exit":    exit,
	"read":    read,
	"write":   write,
	"list":    list,
	"fds":     fds,
	"where":   where,
	"sleep":   sleep,
	"serve":   serve,
	"calls":   calls,
	"foreign": foreign,
	"files":   fileCalls,
	"race":    raceCalls,
	"raceFD":  raceDescriptors,
	"setid":   setID,
	"limit":   limit,
	"slow":    slow,
	"slowAll": slowAll,
	"memory":  memory,
	"sigio":   sigio,
	"signals": signalParent,
	"shared":  shared,
	"ids":     func([]string) error { fmt.Println(os.Getuid(), os.Getpid()); return nil },
}

func exit(args []string) error {
	code, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(code)
	}
	return err
}

// echo prints its arguments and its environment, but for what bubblewrap adds.
func echo(args []string) error {
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PWD=") {
			args = append(args, entry)
		}
	}
	fmt.Print(strings.Join(args, "\x00"))
	return nil
}

// again starts this program once more.
func again([]string) error {
	streams := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	process, err := os.StartProcess(os.Args[0], []string{"child", "exit", "0"}, &os.ProcAttr{Files: streams})
	if err == nil {
		_, err = process.Wait()
	}
	return err
}

func read(args []string) error {
	data, err := os.ReadFile(args[0])
	fmt.Print(string(data))
	return err
}

// appendTo opens a file for writing and changes nothing.
func appendTo(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		err = file.Close()
	}
	return err
}

// at reads a file below an open directory.
func at(args []string) error {
	dir, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fd, err := syscall.Openat(dir, args[1], syscall.O_RDONLY, 0)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(os.NewFile(uintptr(fd), args[1]))
	fmt.Print(string(data))
	return err
}

func write(args []string) error { return os.WriteFile(args[0], []byte(args[1]), 0o644) }

func list(args []string) error {
	entries, err := os.ReadDir(args[0])
	for _, entry := range entries {
		fmt.Println(entry.Name())
	}
	return err
}

// fds lists the open descriptors that this program did not open itself.
func fds([]string) error {
	for fd := range 256 {
		var stat syscall.Stat_t
		if syscall.Fstat(fd, &stat) != nil {
			continue
		}
		flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if flags&syscall.FD_CLOEXEC == 0 {
			fmt.Println(fd)
		}
	}
	return nil
}

func where([]string) error {
	dir, err := os.Getwd()
	fmt.Println(dir)
	return err
}

func sleep(args []string) error {
	d, err := time.ParseDuration(args[0])
	fmt.Println("sleeping")
	time.Sleep(d)
	return err
}

// serve answers each connection on a unix socket with what it reads, until its
// standard input ends.
func serve(args []string) error {
	listener, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	fmt.Println("listening")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
