import t from 'tap'
import { finish, render } from '../../../src/core/templates/render.ts'
import { compile, files, load, renderByMustache, sha256, variableSets } from './generated.ts'

const templates = await load(compile(files))
const all = [...templates.byEventType.values(), templates.generic]

t.test('a rendered text names the revision of its template: the SHA-256 of the file', async (t) => {
  for (const template of all) {
    const file = files.find(({ name }) => name === `${template.name}.mustache`)
    t.equal(template.source, file?.text)
    t.equal(template.revision, sha256(template.source))
    const { revision } = render(templates, { eventType: template.name, locator: '', reason: null })
    t.equal(revision, template.revision)
  }
})

t.test('every template renders as mustache does, with all kinds of variables', async (t) => {
  for (const template of all) {
    for (const variables of variableSets) {
      const ofMustache = renderByMustache(template.source, variables)
      t.equal(template.subject(variables), ofMustache.subject)
      t.equal(template.body(variables), ofMustache.body)
      const { subject, body } = render(templates, { ...variables, eventType: template.name })
      t.strictSame(
        { subject, body },
        finish(renderByMustache(template.source, { ...variables, eventType: template.name })),
      )
    }
  }
})
