import t from 'tap'
import { listEndings, listSpellings } from '../../../src/operations/log/search.ts'

const SAMPLES = ['CLA-2026-00731', 'CLA-2026-00732', 'party-0036', 'INV 7', 'without-number', '42']

/** Each line a text, and the spelling under which the log may know it. */
const SPELLINGS = `
party-36         | party-0036
PARTY-0036       | party-0036
0036             | party-0036
36               | party-0036
00056            | CLA-2026-00056
56               | CLA-2026-00056
2026-00056       | CLA-2026-00056
cla 2026 56      | CLA-2026-00056
CLA202656        |
CLA-00056        | CLA-2026-00056
C56              | CLA-2026-00056
cla-2026-00056   | CLA-2026-00056
 CLA-2026-00056  | CLA-2026-00056
CLA-2026- 00056  | CLA-2026-00056
8                | INV 8
ntf-01A2         | NTF-01a2
Claim.Rejected   | claim.rejected
731000           |
`

t.test('a text is tried in capitals, without spaces, and completed like recent numbers', async (t) => {
  for (const line of SPELLINGS.trim().split('\n')) {
    const [typed = '', spelling = ''] = line.split('|')
    const text = typed.startsWith(' ') ? typed : typed.trimEnd()
    const spellings = listSpellings(text, SAMPLES)
    if (spelling.trim() !== '') t.ok(spellings.includes(spelling.trim()), `${line}: ${spellings}`)
    else t.notMatch(spellings.join(), /-/, line)
    t.notOk(spellings.includes(text), 'the text itself is asked for anyway')
  }
})

t.test('samples of any number of forms give a bounded number of spellings', async (t) => {
  const samples = Array.from({ length: 1_000 }, (_, i) => `form-${i}-7`)
  t.ok(listSpellings('7', samples).length <= 25)
  t.same(listSpellings('', SAMPLES), [])
})

t.test(
  'last digits stand for a bounded number of numbers, of those forms that a text abbreviates',
  async (t) => {
    const cla = { prefix: 'CLA-2026-', missingDigits: 3, digits: '56' }
    t.same(listEndings('CLA-56', SAMPLES), [cla])
    t.same(listEndings('56', SAMPLES), [cla, { prefix: 'party-', missingDigits: 2, digits: '56' }])
    t.same(
      listEndings('6', SAMPLES),
      [{ prefix: 'party-', missingDigits: 3, digits: '6' }],
      'not 9,999 of CLA',
    )
    for (const text of ['00731', 'x', '']) t.same(listEndings(text, SAMPLES), [], text)
    const samples = Array.from({ length: 10 }, (_, i) => `form-${i}-0001`)
    t.equal(listEndings('1', samples).length, 3)
  },
)
