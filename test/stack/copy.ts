// node test/stack/copy.ts
// Updates .cache/copy, where the tests run: this project with the first rules and texts (test/first/), so that no test depends
// on those of today. An unchanged file is not written: another run may be reading it.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FIRST = join(ROOT, 'test/first')
const COPY = join(ROOT, '.cache/copy')
const LINKS = { node_modules: '../../node_modules', '.cache': '..' }
const NOT_COPIED = ['.cache', '.git', '.tap', 'generated', 'node_modules']
/** Rules and texts, but not the pages beside them. */
const CHANGED_BY_AUTHORS = /^(rules|templates)\/(?!README)/

/** Paths of the files in this folder, relative to `root`. */
function filesIn(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_COPIED.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesIn(root, path) : [path]
    })
}

mkdirSync(COPY, { recursive: true })
for (const [name, target] of Object.entries(LINKS))
  if (!existsSync(join(COPY, name))) symlinkSync(target, join(COPY, name))

const sources = new Map([
  ...filesIn(ROOT).flatMap((path) => (CHANGED_BY_AUTHORS.test(path) ? [] : [[path, ROOT] as const])),
  ...filesIn(FIRST).map((path) => [path, FIRST] as const),
])
for (const path of filesIn(COPY)) if (!sources.has(path)) rmSync(join(COPY, path))
for (const [path, folder] of sources) {
  const [source, target] = [join(folder, path), join(COPY, path)]
  if (!existsSync(target) || !readFileSync(source).equals(readFileSync(target))) cpSync(source, target)
}
