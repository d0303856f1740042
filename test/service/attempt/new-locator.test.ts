import t from 'tap'
import { createLocators } from '../../../src/service/attempt/new-locator.ts'

const SHAPE = /^NTF-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('locators contain distinct UUIDv7s, in order of creation', async (t) => {
  const newLocator = createLocators()
  const locators = Array.from({ length: 10_000 }, newLocator)
  t.equal(
    locators.find((locator) => !SHAPE.test(locator)),
    undefined,
  )
  t.equal(new Set(locators).size, locators.length)
  t.strictSame(locators.toSorted(), locators)
})
