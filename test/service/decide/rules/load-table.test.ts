import t from 'tap'
import { CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { COLUMNS, type Rule } from '../../../../src/service/decide/rules/rule.ts'
import { rule, table } from '../../../authoring/build.ts'
import { faultsIn } from '../../build.ts'

/** The format of a file is tested with few columns, as a table may lack those of facts. */
const HEADINGS = 'rule,event type,party,opted out,preferred channel,outcome,send by,reason,because'
const QUOTES =
  'the quotes do not pair up: a cell in quotes opens and closes with " and has "" for each " in it'

const NOT_IN_APP = CHANNELS.filter((channel) => channel !== 'IN_APP').join(', ')
const CHOICE = `use ${CHANNELS.slice(0, -1).join(', ')} or ${CHANNELS.at(-1)}`

/** The faults of a table with these rows below the headings; the first is row 2. */
const faultsOf = (...rows: string[]) => faultsOfFile([HEADINGS, ...rows].join('\n'))
const faultsOfFile = (csvText: string) => faultsIn(() => loadRuleTable(csvText, ['claim.paid']))

t.test('a row becomes a rule', async (t) => {
  const any = { eventType: null, party: null, optedOut: null, preferredChannel: null }
  const when = {
    party: 'found',
    optedOut: false,
    preferredChannel: 'SMS',
    emailOnFile: true,
    phoneOnFile: false,
  } as const
  const eventType = { negated: true, names: ['policy.issued'], prefixes: ['claim.'], exactly: { length: 0 } }
  const text = 'not claim.* or policy.issued'
  const send = rule({ eventType: text, ...when, outcome: 'SEND', sendBy: 'EMAIL', because: 'Because, so.' })
  t.match(loadRuleTable(table(send, rule({ rule: 'b' }))), [
    {
      ...{ id: 'a', row: 2, outcome: 'SEND', sendBy: 'EMAIL', reason: null, because: 'Because, so.' },
      when: { ...when, eventType: { ...eventType, text } },
    },
    { id: 'b', row: 3, when: any, outcome: 'SKIP', sendBy: null, reason: 'x', because: 'Y.' },
  ])
})

t.test('a column of a fact may be missing, which means any', async (t) => {
  const headings = 'rule,event type,party,preferred channel,email on file,outcome,send by,reason,because'
  t.match(loadRuleTable(`${headings}\na,,found,SMS,yes,SKIP,,x,Y.`), [
    {
      when: { party: 'found', optedOut: null, preferredChannel: 'SMS', emailOnFile: true, phoneOnFile: null },
    },
  ])
})

function withoutRows(rules: readonly Rule[]) {
  return rules.map(({ row, ...rule }) => rule)
}

const ROWS = 'a,,,,,SKIP,,x,Y.\nb,claim.*,,,,SKIP,,x,Y.'
const FILE = `${HEADINGS}\n${ROWS}\n`
const QUOTED = `"${HEADINGS.replaceAll(',', '","')}"\n"a","","","","","SKIP","","x","Y."\n"b","claim.*",,,,"SKIP",,"x","Y."\n`

t.test('the formats of spreadsheet programs change only the row numbers', async (t) => {
  const plain = loadRuleTable(FILE)
  const files = {
    'a BOM': `\uFEFF${FILE}`,
    CRLF: FILE.replaceAll('\n', '\r\n'),
    'mixed line ends': FILE.replace('\n', '\r\n').replace('Y.\n', 'Y.\r'),
    'a BOM before quotes': `\uFEFF"rule"${FILE.slice(4)}`,
    'no line end': FILE.trimEnd(),
    'blank rows and cells': `${FILE.replaceAll('\n', ',,\n')},,,,,,,,,,,,\n\n  \n`,
    'blanks around cells': FILE.replaceAll(',', ' , '),
    semicolons: FILE.replaceAll(',', ';'),
    tabs: FILE.replaceAll(',', '\t'),
    'capitals in headings and words': FILE.replace(HEADINGS, HEADINGS.toUpperCase()).replace('SKIP', 'Skip'),
    'a line that names the separator': `sep=;\r\n${FILE.replaceAll(',', ';')}`,
    'line breaks in cells': FILE.replace('send by', '"send\nby"').replace(',x,Y.', ',"x\r\n","\nY."'),
    'typographic quotes': FILE.replace(',claim.*', ',„claim.*“').replace(',x,Y.', ',«x»,“Y.”'),
    'quotes everywhere': QUOTED,
  }
  for (const [name, csvText] of Object.entries(files))
    t.strictSame(withoutRows(loadRuleTable(csvText)), withoutRows(plain), name)
  const spaced = loadRuleTable(`\n${HEADINGS}\n\na,,,,,SKIP,,x,Y.\n`)
  t.equal(spaced[0]?.row, 4, 'the row is the line in the file, blank lines counted')
})

t.test('words may have any case; a line break is a space; typographic quotes are quotes', async (t) => {
  const rules = loadRuleTable(
    `${HEADINGS}\na,Not claim.paid OR Exactly claim.x,Not Found,YES,email,Skip,,x,“So, yes.”\nb,No Template,,No,,Fail,,x,"He said “so”, and\nwent."\nc,,Found,,In_App,Send,Sms,,Z.`,
  )
  t.match(rules, [
    {
      when: {
        eventType: { text: 'not claim.paid or exactly claim.x' },
        party: 'not found',
        optedOut: true,
        preferredChannel: 'EMAIL',
      },
      because: 'So, yes.',
    },
    {
      row: 3,
      when: { eventType: { text: 'no template' }, optedOut: false },
      because: 'He said “so”, and went.',
    },
    { row: 5, outcome: 'SEND', sendBy: 'SMS', when: { preferredChannel: 'IN_APP' } },
  ])
})

t.test('an unclosed quote is a fault of its own row, not of the rows below', async (t) => {
  t.strictSame(faultsOf('a,,,,,SKIP,,x,"Open', 'b,,,,,SKIP,,x,"Closed"', 'c,,fond,,,SKIP,,x,Y.'), [
    `row 2: ${QUOTES}`,
    'row 4, column "party": "fond" is not valid: use found, not found, unresolved or missing; did you mean "found"?',
  ])
})

t.test('a file that is empty, in UTF-16 or a workbook is refused as such, with one fault', async (t) => {
  const utf16 = new TextDecoder().decode(Buffer.from(`\uFEFF${FILE}`, 'utf16le'))
  const zip = Buffer.from('504b030414000600080000002100', 'hex').toString('utf8')
  const empty = 'the file is empty: it needs a line of headings and at least one rule'
  for (const [csvText, fault] of [
    ...['', '\uFEFF', '\n\r\n', ',,,\n'].map((csvText) => [csvText, empty] as const),
    [`${HEADINGS}\n\n`, 'row 1: no line follows: add at least one rule below the headings'],
    [utf16, 'the file is not UTF-8: save it as "CSV UTF-8"'],
    [
      `${zip}[Content_Types].xml\n\uFFFD"\n,`,
      'the file is an Excel workbook, not text: save it as "CSV UTF-8"',
    ],
    [`"${table(rule())}`, `row 1: ${QUOTES}`],
  ] as const)
    t.strictSame(faultsOfFile(csvText), [fault], JSON.stringify(csvText))
})

t.test('faults of the headings name the columns', async (t) => {
  const columns = COLUMNS.join(', ')
  t.strictSame(
    faultsOfFile(`${HEADINGS.replace('event type', 'Event kind')},party,notes\na,,,,,SKIP,,x,Y.,,`),
    [
      `row 1: "Event kind" is not a column: the columns are ${columns}; did you mean "event type"?`,
      'row 1: column "party" appears twice',
      `row 1: "notes" is not a column: the columns are ${columns}`,
      'row 1: column "event type" is missing',
    ],
  )
})

/** Each line a row, and the only fault that it has. */
const ROW_FAULTS = `
,,,,,SKIP,,x,Y.  , column "rule": is blank: give the rule a permanent id
no good,,,,,SKIP,,x,Y.  , column "rule": "no good" is not a rule id: use at most 64 letters, digits, ".", "_" and "-", a letter or digit first
a,,fond,,,SKIP,,x,Y.  , column "party": "fond" is not valid: use found, not found, unresolved or missing; did you mean "found"?
a,,,yess,,SKIP,,x,Y.  , column "opted out": "yess" is not valid: use yes or no; did you mean "yes"?
a,,,,e-mail,SKIP,,x,Y.  , column "preferred channel": "e-mail" is not valid: ${CHOICE}; did you mean "EMAIL"?
a,,,,EMAIL or sms,SKIP,,x,Y.  , column "preferred channel": "EMAIL or sms" is not one value: write a row for each of EMAIL, SMS
a,,,,not IN_APP,SKIP,,x,Y.  , column "preferred channel": "not IN_APP" is not one value: write a row for each of ${NOT_IN_APP}
a,,,0,,SKIP,,x,Y.  , column "opted out": "0" is not valid: use yes or no
a,,,,,,,x,Y.  , column "outcome": is blank: use SEND, SKIP or FAIL
a,,,,,SKIP,SMS,x,Y.  , column "send by": "SMS" on a SKIP: leave it blank, nothing is sent
a,,found,,,SEND,IN_APP,x,Y.  , column "reason": "x" on a SEND: leave it blank, only SKIP and FAIL have one
a,,,,,FAIL,,,Y.  , column "reason": is blank: say in a few words why the outcome is FAIL
a,,,,,SKIP,,a\0b,Y.  , column "reason": has a tab or another control character in it: remove it
a,,,,,SKIP,,x,Y\tZ.  , column "because": has a tab or another control character in it: remove it
a,,,,,SKIP,,x,Caf\uFFFD.  , column "because": "Caf\uFFFD." is not UTF-8: save the file as "CSV UTF-8"
a;;;;;SKIP;;x;Y.  : a semicolon stands between its cells, a comma between the headings: use one of them throughout
a,,,,,SKIP,,x,  , column "because": is blank: say in one sentence why the rule is as it is
a,,,,,SKIP,,x,Because, you see.  : 10 cells for 9 columns; "you see." is one too many: put quotes around a text with a comma in it
a,,,,,SKIP,,x  : 8 cells for 9 columns: write a comma for each blank cell too
a,,,,,SKIP,,x,"Open  : ${QUOTES}
a,,,,,SKIP,,x,say "so"  : ${QUOTES}
a,claim*,,,,SKIP,,x,Y.  , column "event type": "claim*" is not a wildcard: only the form claim.* is one (leave the cell blank for any event type)
a,claim.paid|claim.void,,,,SKIP,,x,Y.  , column "event type": "claim.paid|claim.void" is not an event type: use letters, digits, ".", "_", "-", ":" and "/" only, with "or" between event types
a,claim.paid ore claim.void,,,,SKIP,,x,Y.  , column "event type": "claim.paid ore claim.void" has "ore" where only "or" can stand; did you mean "or"?
a,Claim Paid,,,,SKIP,,x,Y.  , column "event type": "Claim Paid" is not an event type; did you mean "claim.paid"?
a,claim.paid and claim.void,,,,SKIP,,x,Y.  , column "event type": "claim.paid and claim.void" has "and" where only "or" can stand
a,"claim.paid, claim.void",,,,SKIP,,x,Y.  , column "event type": "claim.paid, claim.void" has a comma or semicolon: write "claim.paid or claim.void"
a,claim.paid or,,,,SKIP,,x,Y.  , column "event type": "claim.paid or" ends in "or": name one more event type
a,or or or,,,,SKIP,,x,Y.  , column "event type": "or or or": "or" must stand between two event types
a,not,,,,SKIP,,x,Y.  , column "event type": "not" names no event type after "not"
a,exactly,,,,SKIP,,x,Y.  , column "event type": "exactly" names no event type after "exactly"
a,claim.paid or exactly,,,,SKIP,,x,Y.  , column "event type": "claim.paid or exactly" ends in "exactly": name one more event type
a,not x or not,,,,SKIP,,x,Y.  , column "event type": "not x or not": "not" can stand only once, in front of the whole list
a,any other,,,,SKIP,,x,Y.  , column "event type": "any other" can stand only in the promises: leave the cell blank for any event type that no row above took, or write "no template"
a,not no template,,,,SKIP,,x,Y.  , column "event type": "not no template": "no template" can stand only by itself
${['any', 'ALL', '*'].map((any) => `a,${any},,,,SKIP,,x,Y.  , column "event type": "${any}" cannot stand here: leave it blank for any`).join('\n')}
a,not All,,,,SKIP,,x,Y.  , column "event type": "All" is not an event type: leave the cell blank for any
a,,Any,,,SKIP,,x,Y.  , column "party": "Any" cannot stand here: leave it blank for any
a,x or y or x,,,,SKIP,,x,Y.  , column "event type": "x or y or x" names x twice`
const rowFaults = ROW_FAULTS.trim()
  .split('\n')
  .map((line) => [line.slice(0, line.indexOf('  ')), line.slice(line.indexOf('  ') + 2)] as const)

t.test('each fault of a row names row, column, value and remedy', async (t) => {
  for (const [row, fault] of rowFaults) t.strictSame(faultsOf(row), [`row 2${fault}`], JSON.stringify(row))
})

t.test('a duplicate rule id names the row that had it first', async (t) => {
  t.strictSame(faultsOf('a,,,,,SKIP,,x,Y.', 'b,,,,,SKIP,,x,Y.', 'a,,,,,SKIP,,x,Y.'), [
    'row 4, column "rule": "a" is already the rule in row 2: give each rule an id of its own',
  ])
})

t.test('more than 30 faults are reported at once, in the order of the file', async (t) => {
  t.ok(rowFaults.length >= 30)
  const faults = faultsOf(...rowFaults.map(([row], index) => row.replace(/^a,/, `r${index},`)))
  t.strictSame(
    faults,
    rowFaults.map(([, fault], index) => `row ${index + 2}${fault}`),
  )
})
