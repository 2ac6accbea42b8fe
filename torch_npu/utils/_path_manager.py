# SPDX-License-Identifier: BSD-3-Clause
"""Files and folders with errors that name them; other packages of the ecosystem import it from here."""

import os
import re
import shutil
import warnings
from collections.abc import Callable

from ._error_code import ErrCode, pta_error

__all__: list[str] = []


class PathManager:
    """Checks and small operations of paths. What is doubtful warns; what cannot work raises RuntimeError."""

    MAX_PATH_LENGTH = 4096
    MAX_FILE_NAME_LENGTH = 255
    DATA_FILE_AUTHORITY = 0o640
    DATA_DIR_AUTHORITY = 0o750

    @classmethod
    def check_input_directory_path(cls, path: str) -> None:
        """`path` may name a folder, which need not exist.

        Raises:
            RuntimeError: it is a file.
        """
        cls._warn_of(path)
        if os.path.isfile(path):
            raise RuntimeError(f"Invalid input path is a file path: {path}" + pta_error(ErrCode.PARAM))

    @classmethod
    def check_input_file_path(cls, path: str) -> None:
        """`path` may name a file, which need not exist.

        Raises:
            RuntimeError: it is a folder.
        """
        cls._warn_of(path)
        if os.path.isdir(path):
            raise RuntimeError(f"Invalid input path is a directory path: {path}" + pta_error(ErrCode.PARAM))

    @classmethod
    def check_directory_path_writeable(cls, path: str) -> None:
        """Warns of a link and of what may not be written.

        Raises:
            RuntimeError: it does not exist.
        """
        cls._check_access(path, os.W_OK)

    @classmethod
    def check_directory_path_readable(cls, path: str) -> None:
        """Warns of a link and of what may not be read.

        Raises:
            RuntimeError: it does not exist.
        """
        cls._check_access(path, os.R_OK)

    @classmethod
    def remove_path_safety(cls, path: str) -> None:
        """Removes a folder with all in it; nothing to do if it is not there."""
        if os.path.exists(path):
            cls._try(lambda: shutil.rmtree(path), f"Failed to remove path: {path}", path)

    @classmethod
    def remove_file_safety(cls, file: str) -> None:
        """Removes a file; nothing to do if it is not there."""
        if os.path.exists(file):
            cls._try(lambda: os.remove(file), f"Failed to remove file: {file}", file)

    @classmethod
    def make_dir_safety(cls, path: str) -> None:
        """Makes a folder and those above it, readable by the group; nothing to do if it is there."""
        if not os.path.exists(path):
            cls._try(
                lambda: os.makedirs(path, mode=cls.DATA_DIR_AUTHORITY, exist_ok=True), f"Failed to make directory: {path}", path
            )

    @classmethod
    def create_file_safety(cls, path: str) -> None:
        """Makes an empty file, readable by the group; nothing to do if it is there."""
        if not os.path.exists(path):
            cls._try(
                lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, cls.DATA_FILE_AUTHORITY)),
                f"Failed to create file: {path}",
                path,
            )

    @classmethod
    def check_path_is_readable(cls, path: str) -> bool:
        """Whether this process may read it."""
        return os.access(path, os.R_OK)

    @classmethod
    def check_path_is_writeable(cls, path: str) -> bool:
        """Whether this process may write it."""
        return os.access(path, os.W_OK)

    @classmethod
    def _warn_of(cls, path: str) -> None:
        if len(path) > cls.MAX_PATH_LENGTH or any(len(name) > cls.MAX_FILE_NAME_LENGTH for name in path.split("/")):
            warnings.warn("Length of input path exceeds the limit.", stacklevel=3)
        if os.path.islink(path):
            warnings.warn(f"Invalid input path is a symbolic link: {path}", stacklevel=3)
        if not re.fullmatch(r"[./_\-\s~0-9a-zA-Z\u4e00-\u9fa5]+", path):
            warnings.warn(f"Invalid input path: {path}", stacklevel=3)

    @staticmethod
    def _check_access(path: str, kind: int) -> None:
        if not os.path.exists(path):
            raise RuntimeError(f"The path does not exist: {path}")
        if os.path.islink(path):
            warnings.warn(f"Invalid path is a symbolic link: {path}", stacklevel=3)
        if not os.access(path, kind):
            warnings.warn(f"The path permission check failed: {path}", stacklevel=3)

    @staticmethod
    def _try(change: Callable[[], None], failure: str, path: str) -> None:
        if os.path.islink(path):
            warnings.warn(failure, stacklevel=3)
        try:
            change()
        except (FileNotFoundError, FileExistsError):
            return  # another process was first
        except OSError as error:
            raise RuntimeError(f"{failure}: {error.strerror}" + pta_error(ErrCode.SYSCALL)) from error
