// node test/stack/chromium.ts
// Unpacks the Chromium of the npm package @sparticuz/chromium, once for each version. The package has one for Linux on x64.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }

const VERSION = packageJson.devDependencies['@sparticuz/chromium']
const FOLDER = join(import.meta.dirname, '../../.cache/chromium', VERSION)
const PACKAGED = [join(FOLDER, 'run'), '/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

export const CHROMIUM = process.env.CHROMIUM || PACKAGED.find(existsSync)

/** With the package's libraries and font: no other machine draws a page in another way, and none needs packages for it. */
const RUN = `#!/bin/sh
dir=$(dirname "$0")
export LD_LIBRARY_PATH="$dir/al2023/lib" FONTCONFIG_FILE="$dir/fonts.conf"
exec "$dir/chromium" "$@"
`
const FONTS = '<fontconfig><dir prefix="relative">fonts</dir></fontconfig>\n'

if (import.meta.main && process.platform === 'linux' && process.arch === 'x64' && !existsSync(FOLDER)) {
  await mkdir(dirname(FOLDER), { recursive: true })
  const folder = await mkdtemp(`${FOLDER}-`)
  // The package unpacks to the folder of temporary files.
  process.env.TMPDIR = folder
  const { inflate } = await import('@sparticuz/chromium')
  const packed = fileURLToPath(new URL('../bin', import.meta.resolve('@sparticuz/chromium')))
  for (const file of ['chromium.br', 'al2023.tar.br', 'fonts.tar.br']) await inflate(join(packed, file))
  await writeFile(join(folder, 'fonts.conf'), FONTS)
  await writeFile(join(folder, 'run'), RUN, { mode: 0o755 })
  // Another run may have been faster.
  await rename(folder, FOLDER).catch(() => rm(folder, { recursive: true }))
}
