/** How often the rules of one table decided, among the newest decisions of all. Times are ISO 8601. */
export interface RuleHits {
  /** Decisions that were looked at. */
  readonly lookedAt: number
  /** The oldest of them; null where there is none. */
  readonly since: string | null
  /** False: there are older ones that were not looked at. */
  readonly complete: boolean
  /** Of each rule that made any of them. */
  readonly hits: readonly { readonly ruleId: string; readonly count: number; readonly lastAt: string }[]
}
