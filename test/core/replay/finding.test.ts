import t from 'tap'
import { describeFinding } from '../../../src/core/replay/finding.ts'

t.test('two long texts are shown from their first difference', async (t) => {
  const same = 'x'.repeat(500)
  const said = describeFinding({
    kind: 'column',
    locator: 'NTF-1',
    column: 'body',
    stored: `${same}a${same}`,
    rebuilt: `${same}b${same}`,
  })
  const [before, after] = ['x'.repeat(30), 'x'.repeat(89)]
  t.equal(said, `NTF-1: body is …"${before}a${after}"…, but its decisions give …"${before}b${after}"…`)
})

t.test('short values are shown whole, and other values unchanged', async (t) => {
  const column = (stored: string | number | null, rebuilt: string | number | null) =>
    describeFinding({ kind: 'column', locator: 'NTF-1', column: 'c', stored, rebuilt })
  t.equal(column('a"b', 'a\n'), 'NTF-1: c is "a\\"b", but its decisions give "a\\n"')
  t.equal(column('\u009b2J', null), 'NTF-1: c is "\uFFFD2J", but its decisions give null')
  t.equal(column(null, 2), 'NTF-1: c is null, but its decisions give 2')
})

t.test('the summary counts in words', async (t) => {
  const summary = (entries: number, differences: number, restored: number, left: number, erased = 0) =>
    describeFinding({ kind: 'summary', entries, erased, differences, restored, left })
  t.equal(summary(1, 0, 0, 0), '1 entry compared: no difference')
  t.equal(summary(7, 1, 0, 1), '7 entries compared: 1 difference')
  t.equal(summary(7, 3, 1, 1), '7 entries compared: 3 differences, 1 row restored, 1 left')
  t.equal(summary(7, 0, 0, 0, 3), '7 entries compared, 3 of them erased: no difference')
})
