#!/usr/bin/env bash
# sysroot.sh <package list> <folder>: headers and libraries of arm64 for a cross build, from the system's own Debian
# sources. Writes that folder alone: apt runs with a state of its own, nothing is installed and root is not needed.
set -euo pipefail
list=$1 target=$2

wanted=$(sed 's/#.*//' "$list" | awk '{ for (i = 2; i <= NF; i++) if ($i == "arm64") print $1 }' | sort)
[ -n "$wanted" ] || { echo "sysroot.sh: $list names no package for arm64" >&2; exit 2; }

stamp=$target/.packages
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi
if [ "${RUN_NO_INSTALL:-0}" = 1 ]; then
    echo "sysroot.sh: $target is missing or of another list, and RUN_NO_INSTALL=1 forbids to fetch it" >&2
    exit 2
fi

mkdir -p "$(dirname "$target")"
target=$(realpath "$target")
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work"/apt/lists/partial "$work"/apt/archives/partial "$work"/root
: >"$work/apt/status"

# The system's settings (how to reach the network) without its hooks, which would touch the system's own caches.
{
    apt-config dump | grep -vE '^(DPkg|APT::Update|APT::Architectures?|APT::Sandbox|Dir::(State|Cache))(::| )'
    cat <<TEXT
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::State::extended_states "$work/apt/extended_states";
Dir::Cache "$work/apt";
Dir::Cache::archives "$work/apt/archives";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
TEXT
} >"$work/apt/apt.conf"
export APT_CONFIG=$work/apt/apt.conf DEBIAN_FRONTEND=noninteractive

# A foreign source without arm64 is no reason to stop; what is missing shows below.
apt-get -qq update </dev/null || echo "sysroot.sh: some package lists could not be fetched" >&2
# shellcheck disable=SC2086  # the list is meant to split
apt-get -qq -y --no-install-recommends --download-only install $wanted </dev/null

for archive in "$work"/apt/archives/*.deb; do
    dpkg-deb -x "$archive" "$work/root"
done
# Links that begin at / would lead out of the folder.
find "$work/root" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link to; do
    ln -sfnr "$work/root$to" "$link"
done
printf '%s\n' "$wanted" >"$work/root/.packages"
rm -rf "$target"
mv "$work/root" "$target"
