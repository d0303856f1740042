import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/*
 * A step of `make build`: node src/build/compile-console.ts [output folder]
 * Bundles the console into files whose names change with their contents, and the page that loads them. What `import()` names is
 * loaded when a user opens it. Unchanged files are not written.
 */
const root = join(import.meta.dirname, '..')
const [target = join(root, 'generated/console')] = process.argv.slice(2)

const { outputFiles, metafile } = await build({
  entryPoints: [join(root, 'console/page/main.tsx'), join(root, 'console/page/icon.svg')],
  loader: { '.svg': 'copy' },
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  splitting: true,
  outdir: target,
  write: false,
  metafile: true,
  bundle: true,
  minify: true,
  format: 'esm',
  alias: { 'csv-parse/sync': 'csv-parse/browser/esm/sync' },
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'eof',
  logLevel: 'warning',
})
// Schemas check outside data; the console's data comes from the service, and zod would double the page's size.
if (Object.keys(metafile.inputs).some((path) => path.includes('node_modules/zod/')))
  throw new Error('the console imports a file with schemas: import its types only, or move what it needs')
const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
/** The scripts that the page needs at once, by static imports. */
const loaded = new Set<string>()
function addLoaded(path: string): void {
  if (loaded.has(basename(path))) return
  loaded.add(basename(path))
  for (const { path: imported, kind } of metafile.outputs[path]?.imports ?? [])
    if (kind === 'import-statement') addLoaded(imported)
}
for (const [path, { entryPoint = '' }] of Object.entries(metafile.outputs))
  if (entryPoint.endsWith('main.tsx')) addLoaded(path)
const isLater = (name: string) => name.endsWith('.js') && !loaded.has(name)
files.set('index.html', page([...files.keys()].filter((name) => !isLater(name))))

await mkdir(target, { recursive: true })
const found = await readdir(target)
for (const name of found) if (!files.has(name)) await rm(join(target, name), { recursive: true })
let isWritten = false
for (const [name, text] of files) {
  const file = join(target, name)
  if (found.includes(name) && (await readFile(file, 'utf8')) === text) continue
  await writeFile(file, text)
  isWritten = true
}
const sumKb = (some: readonly [string, string][]) =>
  `${Math.ceil(some.reduce((sum, [, { length }]) => sum + length, 0) / 1_000)} kB`
const later = sumKb([...files].filter(([name]) => isLater(name)))
const first = sumKb([...files].filter(([name]) => !isLater(name)))
process.stdout.write(`console: ${first}, later ${later}, ${isWritten ? 'written' : 'no change'}\n`)

/** Its paths are relative to `/console`, so that a proxy may serve it under any path. */
function page(names: readonly string[]): string {
  const links = names.map((name) => {
    if (name.endsWith('.css')) return `<link rel="stylesheet" href="console/${name}">`
    if (name.endsWith('.svg')) return `<link rel="icon" href="console/${name}">`
    if (!name.startsWith('main-')) return `<link rel="modulepreload" href="console/${name}">`
    return `<script type="module" src="console/${name}"></script>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Notifications console</title>
${links.join('\n')}
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`
}
