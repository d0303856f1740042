import t from 'tap'
import { rowIn, workflowCommand } from '../../../src/commands/terminal/annotations.ts'

t.test('an annotation is one line, whatever its text', async (t) => {
  t.equal(
    workflowCommand('error', 'rules/a,b:c.csv', 3, 'row 3: 100 %\n  ::x'),
    '::error file=rules/a%2Cb%3Ac.csv,line=3::row 3: 100 %25%0A  ::x',
  )
  t.equal(workflowCommand('warning', 'a', null, 'b'), '::warning file=a::b')
})

t.test('a sentence that begins with a row is shown at its line', async (t) => {
  t.equal(rowIn('row 12, column "party": …'), 12)
  t.equal(rowIn('no rule covers: row 3'), null)
})
