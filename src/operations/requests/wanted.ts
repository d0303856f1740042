import type { LogFilter } from '../../service/model/log/log-filter.ts'
import type { SkipTarget } from '../../service/model/request/schemas.ts'
import type { Since } from '../../service/time/duration.ts'

/** What a request is for, as people say it: items by name, or by a filter that ends now. */
export type WantedTarget =
  | { readonly kind: 'retry'; readonly locators: readonly string[]; readonly readAgain?: true | undefined }
  | {
      readonly kind: 'retry'
      readonly filter: LogFilter<Since>
      readonly readAgain?: true | undefined
    }
  | { readonly kind: 'redrive' | 'dismiss'; readonly ids: readonly string[] }
  | {
      readonly kind: 'redrive' | 'dismiss'
      readonly filter: {
        readonly topic?: string | undefined
        readonly code?: string | undefined
        readonly since?: Since | undefined
      }
    }
  | { readonly kind: 'skip'; readonly batch: SkipTarget }
