import t from 'tap'
import { editUrlOf } from '../../../src/core/workbench/workbench.ts'

t.test("a file's edit page is where its forge has it", async (t) => {
  const file = 'rules/dispatch.csv'
  t.equal(editUrlOf('https://github.com/a/b', file), 'https://github.com/a/b/edit/main/rules/dispatch.csv')
  t.equal(
    editUrlOf('https://github.com/a/b.git', file),
    'https://github.com/a/b/edit/main/rules/dispatch.csv',
  )
  t.equal(
    editUrlOf('https://gitlab.insurer.example/x/a/b', file),
    'https://gitlab.insurer.example/x/a/b/-/edit/main/rules/dispatch.csv',
  )
})
