"""Files of the workspace, opened so that no symbolic link leads out of it, also not one that is put there meanwhile."""

import errno
import os
import stat

from picoclaw import ToolError


class Workspace:
    def __init__(self, policy):
        self.root = policy["guard"]["workspace"]

    def open(self, path):
        """Opens a regular file for reading. Each name on the way is opened in the directory before it, and must not be a
        link. This plugin does without what the policy opens outside the workspace."""
        relative = os.path.relpath(os.path.join(self.root, path), self.root)
        if relative.split(os.sep)[0] == os.pardir:
            raise ToolError("access_denied", f"{path} is outside the workspace", rule="workspace.outside")
        *parents, name = relative.split(os.sep)
        directory = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for parent in parents:
                below = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
                os.close(directory)
                directory = below
            # Not to wait for the other end of what is a pipe.
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        except OSError as error:
            raise self.explain(path, error) from error
        finally:
            os.close(directory)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ToolError("invalid_argument", f"{path} is not a file")
        return os.fdopen(file, "rb")

    @staticmethod
    def explain(path, error):
        if error.errno == errno.ENOENT:
            return ToolError("not_found", f"{path} does not exist")
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return ToolError("access_denied", f"{path} passes through a symbolic link or something that is not a directory",
                             hint="name the file that the link leads to")
        if error.errno in (errno.EACCES, errno.EPERM):
            return ToolError("access_denied", f"{path}: {error.strerror}")
        return ToolError("failed", f"{path}: {error.strerror}")
