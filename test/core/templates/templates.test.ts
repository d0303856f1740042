import t from 'tap'
import { finish, render } from '../../../src/core/templates/render.ts'
import { compile, files, load, renderByMustache, sha256, variableSets } from './generated.ts'
import { EVENT_TYPES } from './specified-event-types.ts'

const templates = await load(compile(files))
const all = [...templates.byEventType.values(), templates.generic]

t.test('each event type of the specification has a template that inserts the locator', async (t) => {
  t.equal(EVENT_TYPES.length, 20)
  for (const eventType of EVENT_TYPES) {
    t.ok(templates.byEventType.has(eventType), eventType)
    const { subject, body } = render(templates, { eventType, locator: 'LOC-4711', reason: null })
    t.match(body, 'LOC-4711', eventType)
    t.match(subject, /^\S.*\S$/, eventType)
  }
})

t.test('a rejected claim says why', async (t) => {
  const { body } = render(templates, { eventType: 'claim.rejected', locator: 'CLM-1', reason: 'Too late.' })
  t.equal(
    body,
    `Hello,

We are sorry to tell you that we could not approve your claim (reference CLM-1).

This is why: Too late.

If you have a question about it, please get in touch: we are glad to help.`,
  )
})

t.test('a rejected claim without a reason still reads well', async (t) => {
  for (const reason of [null, '']) {
    const { body } = render(templates, { eventType: 'claim.rejected', locator: 'CLM-1', reason })
    t.equal(
      body,
      `Hello,

We are sorry to tell you that we could not approve your claim (reference CLM-1).

If you would like to know why, please get in touch and we will gladly explain.`,
    )
  }
})

t.test('every other event type gets the generic text, names of built-in properties too', async (t) => {
  for (const eventType of [
    'pet.adopted',
    'generic',
    '',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
  ]) {
    const rendered = render(templates, { eventType, locator: 'P-1', reason: null })
    t.equal(rendered.body, `A ${eventType} event has occurred`)
    t.equal(rendered.subject, 'News about your insurance')
    t.equal(rendered.revision, templates.generic.revision)
  }
})

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

t.test('no body ends in a line break, and every subject is one line', async (t) => {
  for (const eventType of [...EVENT_TYPES, 'pet.adopted']) {
    for (const { locator, reason } of variableSets) {
      const { subject, body } = render(templates, { eventType, locator, reason })
      t.notMatch(body, /[\r\n]$/)
      t.notMatch(subject, /[\r\n]/)
    }
  }
})
