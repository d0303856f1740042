/** One page of a list, as it is shown. `nextCursor` asks for the next one. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}
