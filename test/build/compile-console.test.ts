import { execFile } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const script = new URL('../../src/build/compile-console.ts', import.meta.url).pathname
const folder = t.testdir({ 'main-OLD.js': 'of another build' })
const compile = async () => (await promisify(execFile)(process.execPath, [script, folder])).stdout

t.test('the console is bundled into files whose names change with what they hold', async (t) => {
  t.match(await compile(), /^console: \d+ kB, written\n$/)
  const names = await readdir(folder)
  const kinds = names.map((name) => name.replace(/-[A-Z0-9]{8}\./, '-HASH.'))
  t.strictSame(kinds.sort(), ['icon-HASH.svg', 'index.html', 'main-HASH.css', 'main-HASH.js'])
})

t.test('it is small: what checks data on the server is not part of it', async (t) => {
  const sizes = await Promise.all(
    (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size),
  )
  t.ok(sizes.reduce((sum, size) => sum + size, 0) < 200_000)
})

t.test('its page loads these files, and has nothing inline', async (t) => {
  const html = await readFile(join(folder, 'index.html'), 'utf8')
  for (const name of await readdir(folder)) if (name !== 'index.html') t.match(html, `="console/${name}"`)
  t.notMatch(html, /<style|style=|<script[^>]*>[^<]|\son\w+=|\/\//)
})

t.test('what has not changed is left as it is, what is damaged is repaired', async (t) => {
  const file = join(folder, 'index.html')
  const { mtimeMs } = await stat(file)
  t.match(await compile(), /no change/)
  t.equal((await stat(file)).mtimeMs, mtimeMs)
  await writeFile(file, 'damaged')
  t.match(await compile(), /written/)
  t.match(await readFile(file, 'utf8'), /^<!doctype html>/)
})
