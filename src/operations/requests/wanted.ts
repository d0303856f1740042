import { z } from 'zod'
import { REJECTIONS } from '../../service/decide/event/rejection.ts'
import { identifier, since } from '../../service/http/input/fields.ts'
import { logFilter } from '../../service/http/routes/log-routes.ts'
import { isLogLocator } from '../../service/model/log/log-locator.ts'
import { NAMED_COUNT_MAX, skipTarget } from '../../service/model/request/schemas.ts'

const locators = z
  .array(z.string().refine(isLogLocator, 'must be a locator of a log entry'))
  .min(1)
  .max(NAMED_COUNT_MAX)
  .readonly()
const ids = z
  .array(z.string().regex(/^[1-9]\d{0,17}$/, 'must be the id of a rejected message'))
  .min(1)
  .max(NAMED_COUNT_MAX)
  .readonly()
const rejectedFilter = z.strictObject({
  topic: identifier.optional(),
  code: z.enum(Object.keys(REJECTIONS)).optional(),
  since: since.optional(),
  before: since.optional(),
})
const rejectedKind = z.enum(['redrive', 'dismiss'])
const readAgain = z.literal(true).optional()

/** The items of a request as stated by people: by name, or by a filter that ends now. */
export const wantedTarget = z.union([
  z.strictObject({ kind: z.literal('retry'), locators, readAgain }),
  z.strictObject({ kind: z.literal('retry'), filter: logFilter, readAgain }),
  z.strictObject({ kind: rejectedKind, ids }),
  z.strictObject({ kind: rejectedKind, filter: rejectedFilter }),
  z.strictObject({ kind: z.literal('skip'), batch: skipTarget }),
])
export type WantedTarget = z.output<typeof wantedTarget>
