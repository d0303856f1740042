import t from 'tap'
import { previewChangesToMarkdown } from '../../../src/core/rules/change-summary.ts'
import { diffPreviews, previewTexts } from '../../../src/core/templates/preview.ts'
import { files, templatesWith } from './files.ts'

function previewsWith(changed: Record<string, string>) {
  return previewTexts(templatesWith(changed))
}
const before = previewsWith({})

t.test('every text is previewed with sample values, with and without a reason', async (t) => {
  t.equal(before.length, 21)
  t.equal(before.at(-1)?.eventType, 'any other event type')
  t.match(before.at(-1)?.texts, [{ body: 'A beneficiary.changed event has occurred' }])
  const rejected = before.find(({ eventType }) => eventType === 'claim.rejected')
  t.match(rejected?.texts, [
    { withReason: true, body: /CLM-2026-00056.*The damage happened before/s },
    { withReason: false, sms: { encoding: 'GSM-7', segments: Number } },
  ])
})

t.test('a changed text is shown before and after; a comment is no change', async (t) => {
  const text = files.find(({ name }) => name === 'claim.paid.mustache')?.text as string
  t.strictSame(
    diffPreviews(before, previewsWith({ 'claim.paid.mustache': `${text}{{! a comment }}\r\n` })),
    [],
  )
  t.equal(previewChangesToMarkdown([]), '')
  const after = previewsWith({
    'claim.paid.mustache': text.replace('Hello', 'Dear member'),
    'policy.transferred.mustache': 'Subject: Moved\n\nPolicy {{locator}} has moved.\n',
  })
  const markdown = previewChangesToMarkdown(diffPreviews(before, after))
  t.match(
    markdown,
    /^### Texts: 2 event types with another text\n\n#### claim\.paid\n\nBefore:\n\n1 segment \(GSM-7\) by SMS:\n\n```text\nSubject: Your claim has been paid\n.*Hello.*After:.*Dear member/s,
  )
  t.match(
    markdown,
    /#### policy\.transferred: new, was the generic text\n.*Policy POL-2026-00421 has moved\./s,
  )
  t.match(previewChangesToMarkdown(diffPreviews(after, before)), '#### policy.transferred: removed, becomes')
})
