import t from 'tap'
import { checkTemplates } from '../../../src/authoring/templates/check-templates.ts'
import { describeTemplateFault } from '../../../src/service/decide/templates/template.ts'
import { sha256 } from '../../service/build.ts'
import { files, filesWith } from './files.ts'

t.test('the shipped texts have no fault and no warning, and each its length by SMS', async (t) => {
  const { faults, warnings, lines } = checkTemplates(files, { sha256 })
  t.strictSame([faults, warnings], [[], []])
  t.equal(lines.length, 21)
  t.match(
    lines.find(({ file }) => file === 'claim.rejected.mustache'),
    { sms: { encoding: 'GSM-7', segments: 2 }, uses: ['locator', 'reason'] },
  )
})

t.test('characters that lengthen an SMS and unused variables cause warnings', async (t) => {
  const text = 'Subject: “Paid”\n\nHello,\nyour claim {{locator}} is “paid” ✓\n'
  t.match(checkTemplates(filesWith({ 'claim.paid.mustache': text }), { sha256 }), {
    warnings: [
      {
        file: 'claim.paid.mustache',
        line: 4,
        text: '“ ” ✓ are not in the alphabet of SMS: a segment then holds 67 characters instead of 153',
      },
    ],
  })
  const withoutReason = filesWith({
    'claim.rejected.mustache': 'Subject: No\n\n{{locator}}\n',
    'claim.info_requested.mustache': 'Subject: More\n\n{{locator}}\n',
  })
  const { warnings } = checkTemplates(withoutReason, { sha256 })
  t.strictSame(warnings, [{ file: '', line: null, text: 'no template uses {{reason}}' }])
  t.strictSame(warnings.map(describeTemplateFault), ['no template uses {{reason}}'])
})

t.test('a reason that is inserted where there may be none causes a warning', async (t) => {
  const why = '{{#reason}}\nThis is why: {{reason}}{{> why}}\n{{/reason}}\n'
  const changes = {
    'claim.paid.mustache': `Subject: Paid {{reason}}\n\n{{locator}}\n${why}Because of {{reason}}.\n`,
    'parts/why.mustache': 'Reason: {{reason}}',
  }
  const { warnings } = checkTemplates(filesWith(changes), { sha256 })
  t.match(warnings, [
    { file: 'claim.paid.mustache', line: 1, text: /leaves a gap here: write \{\{#reason\}\}/ },
    { file: 'claim.paid.mustache', line: 7, text: /leaves a gap here/ },
  ])
  t.equal(warnings.length, 2)
})
