import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kafkaJars } from './jars.ts'

/** Puts a `mvn` before the real one, which finds the directory that it is to fill in `$out`. */
async function withMaven(t: Test, script: string): Promise<{ pom: string; cacheDir: string }> {
  const dir = t.testdir({ bin: {}, cache: {}, 'pom.xml': '<project/>' })
  await mkdir(join(dir, 'bin'), { recursive: true })
  const mvn = join(dir, 'bin', 'mvn')
  await writeFile(mvn, `#!/bin/sh\nfor a; do out="\${a#-DoutputDirectory=}"; done\n${script}\n`)
  await chmod(mvn, 0o755)
  const path = process.env.PATH
  process.env.PATH = `${join(dir, 'bin')}:${path}`
  t.teardown(() => {
    process.env.PATH = path
  })
  return { pom: join(dir, 'pom.xml'), cacheDir: join(dir, 'cache') }
}

const quiet = () => {}

t.test('jars are fetched once, and again for a changed pom', async (t) => {
  const places = await withMaven(t, 'touch "$out/a.jar"')
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const first = await kafkaJars(log, places)
  t.strictSame(await readdir(first), ['a.jar'])
  t.equal(await kafkaJars(log, places), first)
  t.equal(lines.length, 1)
  await writeFile(places.pom, '<project>changed</project>')
  t.not(await kafkaJars(log, places), first)
  t.equal(lines.length, 2)
})

t.test('a download that broke off is not taken for whole', async (t) => {
  const places = await withMaven(t, 'touch "$out/half.jar"; echo "no route to host"; exit 1')
  await t.rejects(kafkaJars(quiet, places), { message: /could not be fetched: mvn failed: no route to host/ })
  t.strictSame(await readdir(places.cacheDir), [])
})

t.test('of two that fetch at once both get the jars', async (t) => {
  const places = await withMaven(t, 'touch "$out/a.jar"; sleep 0.1')
  const [first, second] = await Promise.all([kafkaJars(quiet, places), kafkaJars(quiet, places)])
  t.equal(first, second)
  t.strictSame(await readdir(places.cacheDir), [first.split('/').at(-1)])
})
