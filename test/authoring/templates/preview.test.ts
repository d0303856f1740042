import t from 'tap'
import { previewChangesToMarkdown } from '../../../src/authoring/diff/change-summary.ts'
import { diffPreviews, previewTexts } from '../../../src/authoring/templates/preview.ts'
import type { Templates } from '../../../src/service/decide/templates/template.ts'
import { files, templatesWith } from './files.ts'

const before = templatesWith({})

t.test('every text is previewed with sample values, with and without a reason', async (t) => {
  const previews = previewTexts(before)
  t.equal(previews.length, 21)
  t.equal(previews.at(-1)?.eventType, 'any other event type')
  t.match(previews.at(-1)?.texts, [{ body: 'A beneficiary.changed event has occurred' }])
  const rejected = previews.find(({ eventType }) => eventType === 'claim.rejected')
  t.match(rejected?.texts, [
    { withReason: true, body: /CLM-2026-00056.*The damage happened before/s },
    { withReason: false, sms: { encoding: 'GSM-7', segments: Number } },
  ])
})

t.test('a changed text is shown before and after; a comment is no change', async (t) => {
  const text = files.find(({ name }) => name === 'claim.paid.mustache')?.text as string
  t.strictSame(
    diffPreviews(before, templatesWith({ 'claim.paid.mustache': `${text}{{! a comment }}\r\n` })),
    [],
  )
  t.equal(previewChangesToMarkdown([]), '')
  const after = templatesWith({
    'claim.paid.mustache': text.replace('Hello', 'Dear member'),
    'policy.transferred.mustache': 'Subject: Moved\n\nPolicy {{locator}} has moved.\n',
  })
  const markdown = previewChangesToMarkdown(diffPreviews(before, after))
  t.match(
    markdown,
    /^### Texts: 2 event types with another text\n\nclaim\.paid:\n\n```diff\n- Hello,\n\+ Dear member,\n```\n\n.*#### claim\.paid\n\nBefore:\n\n1 segment \(GSM-7\) by text message:\n\n```text\nSubject: Your claim has been paid\n.*Hello.*After:.*Dear member/s,
  )
  t.match(
    markdown,
    /#### policy\.transferred: new, was the generic text\n.*Policy POL-2026-00421 has moved\./s,
  )
  t.match(previewChangesToMarkdown(diffPreviews(after, before)), '#### policy.transferred: removed, becomes')
})

t.test('what one text says differently stands before what all do, and the wholes come last', async (t) => {
  const greetings = files
    .filter(({ text }) => text.includes('Hello,'))
    .map(({ name, text }) => [name, text.replace('Hello,', 'Dear member,')] as const)
  const [name = '', text = ''] = greetings[0] ?? []
  const after = templatesWith({
    ...Object.fromEntries(greetings),
    [name]: `${text}\nPlease do nothing.\n${'Or wait. '.repeat(40)}`,
  })
  const type = name.replace('.mustache', '')
  const [odd, all, longer, wholes, ...rest] = [
    `${type}:\n\n\`\`\`diff\n+ Please do nothing.\n`,
    `${greetings.length} event types, such as ${type}, `,
    `Longer by text message, in segments: ${type} (1, now 4), `,
    '<details><summary>All changed texts, before and after</summary>\n\n#### ',
  ].map((part) => previewChangesToMarkdown(diffPreviews(before, after)).indexOf(part))
  t.strictSame(rest, [])
  t.ok(Number(odd) > 0 && Number(all) > Number(odd))
  t.ok(Number(longer) > Number(all) && Number(wholes) > Number(longer))
})

t.test('a sample value in place of a variable is a change, which other values show', async (t) => {
  const [text, literal] = ['{{reason}}', 'The damage happened before the policy began.'].map(
    (reason) => `Subject: News\n\nOf {{locator}}{{#reason}}: ${reason}{{/reason}}\n`,
  ) as [string, string]
  const [was, is] = [text, literal].map((one) => templatesWith({ 'claim.paid.mustache': one }))
  const changes = diffPreviews(was as Templates, is as Templates)
  t.equal(changes.length, 1)
  t.match(changes, [{ before: { texts: [{ withReason: true }, { withReason: false }] } }])
  t.not(changes[0]?.before?.texts[0]?.body, changes[0]?.after?.texts[0]?.body)
  const generic = ['{{eventType}}', 'beneficiary.changed'].map((eventType) =>
    templatesWith({
      'generic.mustache': `Subject: News of ${eventType}\n\nA {{eventType}} event has occurred\n`,
    }),
  )
  t.match(diffPreviews(...(generic as [Templates, Templates])), [{ eventType: 'any other event type' }])
})
