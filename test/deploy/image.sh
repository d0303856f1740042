#!/usr/bin/env bash
# Builds src/deploy/Dockerfile without a container engine and without a registry of images, by Debian's buildah, umoci, bubblewrap
# and debootstrap, and has the result tried; with HOUSE also src/deploy/Dockerfile.house, and that image is tried. Its base, node:…-slim, is stood in for by a plain Debian with the pinned Node and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$PWD/.cache/image
node_version=$(sed -n 's/^ARG NODE_VERSION=//p' src/deploy/Dockerfile)
base=docker.io/library/node:$node_version-slim
export STORAGE_DRIVER=vfs

for tool in buildah umoci bwrap debootstrap setpriv; do
  command -v "$tool" >/dev/null || {
    echo "make image needs $tool: apt-get install buildah umoci bubblewrap debootstrap util-linux" >&2
    exit 1
  }
done
if [ "$(id -u)" -ne 0 ]; then
  echo 'make image needs root, as debootstrap does' >&2
  exit 1
fi
mkdir -p "$dir"

if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  root=$dir/base
  rm -rf "$root"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$dir/debootstrap.log"
  cp -L node_modules/node/bin/node "$root/usr/local/bin/"
  npm install --global --silent --prefix "$root/usr/local" npm@11
  chroot "$root" useradd --uid 1000 --create-home node
  # A proxy that inspects TLS may stand between this machine and the registries.
  cp -L "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$root" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
  buildah commit --quiet --rm "$container" "$base" >/dev/null
  rm -rf "$root"
fi

buildah bud --pull-never --isolation chroot --network host --format docker --quiet \
  --ignorefile src/deploy/Dockerfile.dockerignore --file src/deploy/Dockerfile \
  --build-arg "GIT_COMMIT=$(git rev-parse HEAD)" --tag notifications-service . >/dev/null
image=notifications-service
if [ -n "${HOUSE:-}" ]; then
  image=notifications-house
  buildah bud --pull-never --isolation chroot --format docker --quiet --file src/deploy/Dockerfile.house \
    --build-arg PRODUCT=localhost/notifications-service --build-arg "COMMIT=$(git -C "$HOUSE" rev-parse HEAD || true)" \
    --tag "$image" "$HOUSE" >/dev/null
fi
rm -rf "$dir/oci" "$dir/bundle"
buildah push --quiet --format oci "$image" "oci:$dir/oci:latest"
umoci unpack --image "$dir/oci:latest" "$dir/bundle" >/dev/null
chmod 755 "$dir" "$dir/bundle"
exec node_modules/.bin/node test/stack/with-stack.ts -- node_modules/.bin/node test/deploy/try-image.ts "$dir/bundle"
