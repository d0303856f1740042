import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mutate, readMutants } from './mutants.ts'

const ROOT = join(import.meta.dirname, '../..')
const mutants = readMutants()

t.test('each mutant replaces one line that its file has once', async (t) => {
  for (const mutant of mutants)
    t.doesNotThrow(() => mutate(readFileSync(join(ROOT, mutant.file), 'utf8'), mutant))
})

t.test('each mutant has a name of its own, and tests that exist', async (t) => {
  const names = mutants.map(({ name }) => name)
  t.strictSame(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
  for (const { name, tests } of mutants)
    t.strictSame(
      tests.filter((test) => !existsSync(join(ROOT, test))),
      [],
      name,
    )
})

t.test('a line that is missing or not the only one is a fault, and indentation stays', async (t) => {
  const mutant = { name: 'm', file: 'src/a.ts', before: 'if (a) b()', after: '$& b()', tests: [] }
  t.equal(mutate('x\n  if (a) b()\n', mutant), 'x\n  $& b()\n')
  t.throws(
    () => mutate('if (a) b() // c', mutant),
    /"m" replaces one line, but src\/a.ts has no "if \(a\) b\(\)"/,
  )
  t.throws(() => mutate('if (a) b()\n  if (a) b()', mutant), /another "if/)
})
