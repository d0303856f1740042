import { execFile } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const script = new URL('../../src/build/compile-console.ts', import.meta.url).pathname
const folder = t.testdir({ 'main-OLD.js': 'of another build' })
/** Parts that are loaded when they are needed. */
const LATER = ['rejected', 'requests', 'rules', 'sign-in', 'workbench']
const compile = async () => (await promisify(execFile)(process.execPath, [script, folder])).stdout

t.test('the console is bundled into files named by their contents', async (t) => {
  t.match(await compile(), /^console: \d+ kB, later \d+ kB, written\n$/)
  const names = await readdir(folder)
  const kinds = names.map((name) => name.replace(/-[A-Z0-9]{8}\./, '-HASH.'))
  const scripts = ['chunk-HASH.js', 'main-HASH.js', ...LATER.map((name) => `${name}-HASH.js`)]
  t.strictSame(
    [...new Set(kinds)].sort(),
    ['icon-HASH.svg', 'index.html', 'main-HASH.css', ...scripts].sort(),
  )
})

t.test('the first view is small, and the workbench contains no code of the server', async (t) => {
  const names = await readdir(folder)
  const html = await readFile(join(folder, 'index.html'), 'utf8')
  const isLater = (name: string) => name !== 'index.html' && !html.includes(`="console/${name}"`)
  const sizeOf = async (some: string[]) =>
    (await Promise.all(some.map(async (name) => (await stat(join(folder, name))).size))).reduce(
      (a, b) => a + b,
    )
  t.ok((await sizeOf(names.filter((name) => !isLater(name)))) < 100_000)
  t.ok((await sizeOf(names.filter(isLater))) < 350_000)
})

t.test('its page loads what the first view needs, and has no inline code', async (t) => {
  const html = await readFile(join(folder, 'index.html'), 'utf8')
  t.match(html, /src="console\/main-\w+\.js"/)
  for (const name of LATER) t.notMatch(html, `console/${name}-`)
  t.notMatch(html, /<style|style=|<script[^>]*>[^<]|\son\w+=|\/\//)
})

t.test('unchanged files are kept, damaged ones are repaired', async (t) => {
  const file = join(folder, 'index.html')
  const { mtimeMs } = await stat(file)
  t.match(await compile(), /no change/)
  t.equal((await stat(file)).mtimeMs, mtimeMs)
  await writeFile(file, 'damaged')
  t.match(await compile(), /written/)
  t.match(await readFile(file, 'utf8'), /^<!doctype html>/)
})
