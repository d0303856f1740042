// node test/stack/copy.ts
// Updates .cache/copy, where the tests run: this project with the first rules and texts (test/first/), so that no test depends
// on those of today. An unchanged file is not written: another run may be reading it.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FIRST = join(ROOT, 'test/first')
const COPY = join(ROOT, '.cache/copy')
const LINKS = { node_modules: '../../node_modules', '.cache': '..' }
/** All others are of no use to a test, and may be large. */
const FOLDERS = ['.ci', '.github', 'db', 'rules', 'src', 'templates', 'test']
/** Rules and texts, but not the pages beside them. */
const CHANGED_BY_AUTHORS = /^(rules|templates)\/[^/]+\.(csv|json|mustache|txt)$/

/** Paths of the files in this folder, relative to `root`. Leaves out links, such as the locks of editors. */
function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'generated' ? [] : filesIn(root, path)
    return entry.isFile() ? [path] : []
  })
}

/** The files at the top level, and those in these folders. */
function projectFiles(root: string): string[] {
  return readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return FOLDERS.includes(entry.name) ? filesIn(root, entry.name) : []
    return entry.isFile() && entry.name !== '.git' ? [entry.name] : []
  })
}

function isSame(source: string, target: string): boolean {
  const one = statSync(source)
  const other = statSync(target, { throwIfNoEntry: false })
  if (other === undefined || one.size !== other.size || one.mode !== other.mode) return false
  // A copy has whole milliseconds.
  return Math.abs(one.mtimeMs - other.mtimeMs) < 1
}

mkdirSync(COPY, { recursive: true })
for (const [name, target] of Object.entries(LINKS))
  if (!existsSync(join(COPY, name))) symlinkSync(target, join(COPY, name))

const sources = new Map([
  ...projectFiles(ROOT).flatMap((path) => (CHANGED_BY_AUTHORS.test(path) ? [] : [[path, ROOT] as const])),
  ...projectFiles(FIRST).map((path) => [path, FIRST] as const),
])
for (const path of projectFiles(COPY)) if (!sources.has(path)) rmSync(join(COPY, path))
for (const [path, folder] of sources) {
  const [source, target] = [join(folder, path), join(COPY, path)]
  if (isSame(source, target)) continue
  cpSync(source, `${target}.new`, { preserveTimestamps: true })
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory()) rmSync(target, { recursive: true })
  renameSync(`${target}.new`, target)
}
