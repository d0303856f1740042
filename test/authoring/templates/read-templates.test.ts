import assert from 'node:assert/strict'
import t from 'tap'
import { readTemplates } from '../../../src/authoring/templates/read-templates.ts'
import { render } from '../../../src/service/decide/templates/render.ts'
import { TemplateError } from '../../../src/service/decide/templates/template.ts'
import { sha256 } from '../../service/build.ts'
import fc from '../../stack/properties.ts'
import { files, templatesWith } from './files.ts'

function faultsOf(changes: Readonly<Record<string, string | null>>): string {
  try {
    templatesWith(changes)
  } catch (error) {
    if (error instanceof TemplateError) return error.message
    throw error
  }
  return 'no fault'
}

/** The faults of one file, without the headline. */
function faultsIn(text: string, file = 'claim.paid.mustache'): string[] {
  const [, ...lines] = faultsOf({ [file]: text }).split('\n')
  return lines.map((line) => line.trim())
}

const VARIABLES = 'the variables are eventType, locator, reason'
const NO_LOCATOR = '3: the body must insert {{locator}}, whether there is a reason or not'

const CONFLICT =
  'a merge left its marks here: keep one of the two versions, and remove the lines of <<<<<<<, ======= and >>>>>>>'

/** Each line a file, with ↵ for its line breaks, and its only fault, by line. */
const FAULTY = `
Subject: {{eventTyp}}↵↵{{locator}}↵{{{Reason}}}{{&locater}}  1: "eventTyp" is not a variable: ${VARIABLES}; did you mean "eventType"?
Subject: s↵↵{{locator}}{{constructor}}{{__proto__}}  3: "constructor" is not a variable: ${VARIABLES}
Subject: s↵↵{{locator}}↵{{#reasons}}↵{{x}}↵{{/reasons}}  4: "reasons" is not a variable: ${VARIABLES}; did you mean "reason"?
Subject: s↵↵{{locator}}↵{{^reason}}{{/reason}}↵{{#reason}}↵why {↵  7: section "reason" is never closed: put {{/reason}} where it ends
Subject: {{#reason}}s↵↵{{/reason}}{{locator}}  1: section "reason" is never closed: put {{/reason}} where it ends
Subject: s↵↵{{locator}}↵{{#reason}}↵why↵{{/raeson}}↵{{x}}  6: section "reason" is still open here: close it first, with {{/reason}}
Subject: s↵↵{{#locator}}{{locator}}↵{{#reason}}↵{{/locator}}↵{{/reason}}  5: section "reason" is still open here: close it first, with {{/reason}}
Subject: s↵↵{{locator}}↵{{/reason}}  4: no section "reason" is open here: remove the closing tag
Subject: s↵↵{{locator}}↵{{reason↵{{locator}↵  4: a tag is never closed: end it with as many } as it has {
Subject: s↵↵{{locator}}↵{{#reason}}↵{{{reason}}↵{{/reason}}↵  5: a tag is never closed: end it with as many } as it has {
Hello↵↵{{locator}} {{x}}  1: the subject is missing: begin the file with "Subject: …"
Subject:↵↵{{locator}}  1: the subject is or can be empty: give it fixed words
Subject: {{! none }}↵↵{{locator}}  1: the subject is or can be empty: give it fixed words
Subject: {{#reason}}r{{/reason}}↵↵{{locator}}  1: the subject is or can be empty: give it fixed words
Subject: {{^reason}}r{{/reason}}↵↵{{locator}}  1: the subject is or can be empty: give it fixed words
Subject: {{locator}}↵↵{{locator}}  1: the subject is or can be empty: give it fixed words
Subject: one↵ two {{x}}↵↵{{locator}}  2: the subject is one line: leave the line after it blank
Subject: {{> head}}↵↵{{locator}}  1: part "head" cannot be inserted here: write its text
Subject: s↵↵{{locator}}↵{{> gone}}  4: there is no part "gone": add it as templates/parts/gone.mustache
Subject: s↵↵{{locator}}↵{{=<% %>=}}↵<% reason %>{{ = }}↵{{x}}  4: the delimiters cannot be changed: remove this tag and write {{…}} throughout
Subject: s↵↵ ↵  3: the body is empty: write it below the subject
Subject: s {{locator}}↵↵no locator  ${NO_LOCATOR}
Subject: s↵↵{{#locator}}some{{/locator}}{{! {{locator}}  ${NO_LOCATOR}
Subject: s↵↵{{#reason}}{{locator}}{{/reason}}  ${NO_LOCATOR}
Subject: s↵↵{{^reason}}{{locator}}{{/reason}}  ${NO_LOCATOR}
Subject: s↵↵{{^locator}}{{locator}}{{/locator}}  3: {{locator}} is always empty here, within {{^locator}}: write {{#locator}}…{{/locator}} around what is shown with it
Subject: s↵↵{{locator}}↵{{^reason}}{{#reason}}{{reason}}{{/reason}}↵This is why: {{reason}}{{/reason}}  5: {{reason}} is always empty here, within {{^reason}}: write {{#reason}}…{{/reason}} around what is shown with it
Subject: s↵↵{{locator}}↵Gr\0e  4: this is not UTF-8 text: save the file as UTF-8
Subject: s↵↵{{locator}}↵Gr\uFFFDe  4: this is not UTF-8 text: save the file as UTF-8
Subject: s↵↵{{locator}}↵<<<<<<< HEAD↵one↵=======↵two↵>>>>>>> other  4: ${CONFLICT}
Subject: s↵↵{{locator}}↵||||||| 1a2b↵one  4: ${CONFLICT}
Subject: s↵↵{{locator}} since { reason }  3: members would read { reason }: write {{reason}}
Subject: {locator}↵↵{{locator}}  1: members would read {locator}: write {{locator}}`
const FAULTY_GENERIC = ['', '.', '↵{{locator}}'].map(
  (end) =>
    `Subject: s↵↵A {{{eventType}}} event has occurred${end}  3: the body must be exactly "A {{eventType}} event has occurred"`,
)

for (const [file, faulty] of [
  ['claim.paid.mustache', FAULTY.trim().split('\n')],
  ['generic.mustache', FAULTY_GENERIC],
] as const) {
  for (const line of faulty) {
    t.test(`the build refuses ${file} of ${JSON.stringify(line)}`, async (t) => {
      const [, source = '', fault] = /^(.*?) {2}(.*)$/.exec(line) ?? []
      const text = source.replaceAll('↵', '\n')
      t.strictSame(faultsIn(text, file), [`${file}:${fault}`])
      const marked = `\uFEFF${text.replaceAll('\n', '\r\n')}`
      t.strictSame(faultsIn(marked, file), [`${file}:${fault}`], 'with BOM and CRLF too')
    })
  }
}

t.test('a file is enough to make an event type known', async (t) => {
  const templates = templatesWith({
    'policy.transferred.mustache': 'Subject: Moved\n\n{{locator}}',
    'claim.paid.mustache': null,
  })
  const variables = { eventType: 'policy.transferred', locator: 'POL-1', reason: null }
  t.equal(templates.get('policy.transferred')?.subject(variables), 'Moved')
  t.notOk(templates.has('claim.paid'))
})

t.test('the build refuses a file that is not a template', async (t) => {
  const text = 'Subject: s\n\n{{locator}}'
  t.equal(
    faultsOf({ 'Generic.mustache': text }),
    'the templates have 1 fault:\n  Generic.mustache: "Generic" is not an accepted event type; did you mean "generic"? If events have exactly this type, add its text once the first of them was received, or add the line "Generic" to rules/outcomes.txt',
  )
  t.equal(
    faultsOf({ 'notes.txt': '', '.mustache': text }),
    `the templates have 2 faults:
  .mustache: is not a template: name it <event type>.mustache, or remove it
  notes.txt: is not a template: name it <event type>.mustache, or remove it`,
  )
})

t.test('a file name that is a misspelt event type, or has spaces or brackets, is refused', async (t) => {
  const accepted = files.map(({ name }) => name.replace('.mustache', ''))
  const faultOf = (name: string, further: readonly string[] = []) => {
    try {
      const added = { name: `${name}.mustache`, text: 'Subject: s\n\n{{locator}}' }
      readTemplates([...files, added], {
        sha256,
        accepted: [...accepted, ...further],
        seen: ['policy.transferred'],
      })
      return null
    } catch (error) {
      return error instanceof TemplateError ? error.faults.map(({ text }) => text).join() : error
    }
  }
  const meant = {
    'claim.rejectd': 'claim.rejected',
    'Claim.reopened': 'claim.reopened',
    'claim reopened': 'claim.reopened',
    'claim.reopened (1)': 'claim.reopened',
    'claim.reopened - Copy': 'claim.reopened',
    'CLAIM.Rejected(2)': 'claim.rejected',
    generics: 'generic',
    'policy.transfered': 'policy.transferred',
  }
  for (const [name, near] of Object.entries(meant)) {
    t.equal(
      faultOf(name),
      `"${name}" is not an accepted event type; did you mean "${near}"? If events have exactly this type, add its text once the first of them was received, or add the line "${name}" to rules/outcomes.txt`,
    )
    t.equal(faultOf(name, [name]), null, 'the way out')
  }
  for (const name of ['policy.transferred', 'claim.reopened', 'consent', 'überweisung.erhalten', 'a_b-c:d.2'])
    t.equal(faultOf(name), null, name)
})

t.test('the build requires the generic template', async (t) => {
  t.equal(
    faultsOf({ 'generic.mustache': null }),
    'the templates have 1 fault:\n  generic.mustache: the template for every other event type is missing: add this file',
  )
})

t.test('the build reports the first fault of each file, by file and line', async (t) => {
  t.equal(
    faultsOf({
      'policy.issued.mustache': 'Subject: s\n\n{{locator}}\n{{x}}\n{{y}}',
      'claim.paid.mustache': 'Subject: \n\n{{locator}}',
      'nonsense.txt': '',
    }),
    `the templates have 3 faults:
  claim.paid.mustache:1: the subject is or can be empty: give it fixed words
  nonsense.txt: is not a template: name it <event type>.mustache, or remove it
  policy.issued.mustache:4: "x" is not a variable: ${VARIABLES}`,
  )
})

t.test('the generic template has a subject of its own and may end with or without line breaks', async (t) => {
  for (const end of ['', '\n', '\r\n', '\n\n']) {
    const text = `Subject: s {{locator}}\n\nA {{eventType}} event has occurred${end}`
    t.equal(faultsOf({ 'generic.mustache': text }), 'no fault')
  }
})

t.test('a file with BOM and CRLF renders like one without, but has its own revision', async (t) => {
  const plain = 'Subject: One\n\nTwo {{locator}}\n{{#reason}}\n{{reason}}\n{{/reason}}\nThree\n'
  const marked = `\uFEFF${plain.replaceAll('\n', '\r\n')}`
  const templates = templatesWith({ 'claim.paid.mustache': plain, 'claim.approved.mustache': marked })
  const [a, b] = ['claim.paid', 'claim.approved'].map((name) => templates.get(name))
  t.equal(b?.source, marked)
  t.equal(b?.revision, sha256(marked))
  t.not(a?.revision, b?.revision)
  for (const [reason, body] of [
    ['Late.', 'Two <b>&\nLate.\nThree\n'],
    [null, 'Two <b>&\nThree\n'],
  ] as const) {
    const variables = { eventType: 'claim.paid', locator: '<b>&', reason }
    for (const template of [a, b]) {
      t.equal(template?.subject(variables), 'One')
      t.equal(template?.body(variables), body)
    }
  }
})

t.test('random fragments are refused with a line number, or rendered with the locator', async (t) => {
  // biome-ignore format: a list
  const scrap = fc.constantFrom(
    '{{', '}}', '{', '}', '#', '^', '/', '>', '&', '=', '!', ' ', '\n', 'x', 'reason', 'locator',
    '{{#reason}}', '{{/reason}}', '{{^locator}}', '{{/locator}}', '{{locator}}', '{{{reason}}}', '{{! x }}',
  )
  const count = { read: 0, refused: 0 }
  fc.assert(
    fc.property(fc.array(scrap, { maxLength: 12 }), fc.option(fc.string()), (scraps, reason) => {
      const source = `Subject: s\n\n{{locator}}${scraps.join('')}`
      try {
        const templates = templatesWith({ 'claim.paid.mustache': source })
        const body = templates.get('claim.paid')?.body({ eventType: 'e', locator: 'CLM-1', reason })
        assert.ok(body?.startsWith('CLM-1'))
        count.read++
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error
        for (const { line } of error.faults)
          assert.ok(line !== null && line >= 3 && line <= source.split('\n').length)
        count.refused++
      }
    }),
    { numRuns: 200 },
  )
  t.ok(count.read > 10 && count.refused > 10, `${count.read} read, ${count.refused} refused`)
})

const USES_HEAD = 'Subject: s\n\n{{> head}}\n{{locator}}{{>head}}.\n'

t.test('a text inserts parts, and its revision and source are those of the whole', async (t) => {
  const part = '\uFEFFHello{{#reason}},\r\n{{reason}}{{/reason}}\r\n\n'
  const templates = templatesWith({ 'claim.paid.mustache': USES_HEAD, 'parts/head.mustache': part })
  const whole =
    'Subject: s\n\nHello{{#reason}},\r\n{{reason}}{{/reason}}\n{{locator}}Hello{{#reason}},\r\n{{reason}}{{/reason}}.\n'
  t.match(templates.get('claim.paid'), { source: whole, revision: sha256(whole) })
  t.equal(templates.has('parts/head'), false, 'a part is no text of an event type')
  const variables = { eventType: 'claim.paid', locator: 'CLM-1', reason: 'late' }
  t.equal(render(templates, variables).body, 'Hello,\nlate\nCLM-1Hello,\nlate.')
})

t.test('a fault of a part is told once, in its own file, and hides no fault of a text', async (t) => {
  const withPart = (part: string, text = USES_HEAD, name = 'head') =>
    faultsOf({ 'claim.paid.mustache': text, [`parts/${name}.mustache`]: part })
  const one = (fault: string) => `the templates have 1 fault:\n  ${fault}`
  t.equal(withPart('a\n{{x}}'), one(`parts/head.mustache:2: "x" is not a variable: ${VARIABLES}`))
  t.equal(
    withPart('{{> head}}'),
    one('parts/head.mustache:1: part "head" cannot be inserted here: write its text'),
  )
  t.equal(withPart('<<<<<<< HEAD'), one(`parts/head.mustache:1: ${CONFLICT}`))
  t.match(withPart('{{#reason}}', USES_HEAD.replace('locator', 'x')), /2 faults:\n {2}claim.paid.*"x" is not/)
  t.equal(withPart('{{locator}}', 'Subject: s\n\n{{> head}}\n'), 'no fault', 'the part inserts the locator')
  t.equal(withPart('no locator', 'Subject: s\n\n{{> head}}\n'), one(`claim.paid.mustache:${NO_LOCATOR}`))
  t.match(
    withPart('a', 'Subject: s\n\n{{> haed}}{{locator}}\n'),
    'there is no part "haed": add it as templates/parts/haed.mustache; did you mean "head"?',
  )
  t.match(withPart('a', 'Subject: s\n\n{{locator}}\n', 'My Part'), 'is not a part: name it parts/<word>')
})
