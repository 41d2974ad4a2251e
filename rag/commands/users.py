"""``citewell users``: list, add or remove who may use a shared server."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_json
from rag.commands.output import Json, bad_usage, print_json
from rag.errors import AccountError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "users", run, "list, add or remove who may use a shared server")
    parser.add_argument("action", choices=["list", "add", "remove", "token"])
    parser.add_argument("name", nargs="?", help="the user; 'add' asks for a password or reads it from standard input")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Does it, and prints the names or the new token."""
    from serve.accounts import Accounts, accounts_file

    if (args.name is None) != (args.action == "list"):
        bad_usage("give 'users list', or 'users add|remove|token NAME'")
    accounts = Accounts(accounts_file(config))
    result: Json = {"user": args.name}
    if args.action == "list":
        result = {"users": accounts.names()}
    elif args.action == "add":
        accounts.add(args.name, _password())
    elif args.action == "remove":
        accounts.remove(args.name)
    else:
        result["token"] = accounts.new_token(args.name)
    if args.json:
        print_json(result)
    else:
        for line in result.get("users", [result["token"]] if "token" in result else []):
            print(line)
    return 0


def _password() -> str:
    """From the terminal, not shown, twice; or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    from getpass import getpass

    password = getpass("Password: ")
    if getpass("Again: ") != password:
        raise AccountError("the two passwords differ; nothing was changed, try again")
    return password
