import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mutate, readMutants } from './mutants.ts'

const ROOT = join(import.meta.dirname, '../..')

t.test('each mutant changes one line of its file, and names tests that exist', async (t) => {
  const mutants = readMutants()
  t.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length, 'each has a name of its own')
  for (const mutant of mutants) {
    const text = readFileSync(join(ROOT, mutant.file), 'utf8')
    t.not(mutate(text, mutant), text, mutant.name)
    for (const test of mutant.tests) t.ok(existsSync(join(ROOT, test)), test)
  }
})
