import { counted } from '../../text/count.ts'
import { ADDRESS_KINDS, type Address, addressVariable } from '../party/channel.ts'
import { ADDRESS_COUNT_MIN, type DataFault, FAULTY_COUNT_MIN } from './data-faults.ts'
import { exceedsAny, HALF, judgeShare, type ShareLimit } from './share-limits.ts'

/** Answers may omit missing values. If one member in twenty has a phone number, fewer answers may all lack it by chance. */
const PLACE_COUNT_MIN = 200

/** Where half of the members have no address, each of these is exceeded by chance in less than one of ten thousand windows. */
const WITHOUT_LIMITS: readonly ShareLimit[] = [
  { countMin: ADDRESS_COUNT_MIN, shareMax: 0.95 },
  { countMin: 50, shareMax: 0.8 },
]

/** Values at the place of an address, in answers about known parties. `repeated`: see `createAddressFinder`. */
export const ADDRESS_FINDINGS = ['address', 'repeated', 'no address', 'blank', 'no place'] as const

export type AddressFinding = (typeof ADDRESS_FINDINGS)[number]

type AddressCounts = Readonly<Record<AddressFinding, number>>

/** @param countOf returns how many answers have a finding */
export function countAddresses(countOf: (finding: AddressFinding) => number): AddressCounts {
  return {
    address: countOf('address'),
    repeated: countOf('repeated'),
    'no address': countOf('no address'),
    blank: countOf('blank'),
    'no place': countOf('no place'),
  }
}

function countWithout(counts: AddressCounts): number {
  return counts.blank + counts['no place']
}

function sum(counts: AddressCounts): number {
  return ADDRESS_FINDINGS.reduce((total, finding) => total + counts[finding], 0)
}

/** Answers, and those about members who are told by this address. `ever`: since the start. */
export type JudgedAnswers = Readonly<Record<'newest' | 'needed' | 'ever' | 'everNeeded', AddressCounts>>

export function judgeAddresses(
  address: Address,
  { newest, needed, ever, everNeeded }: JudgedAnswers,
): DataFault[] {
  if (sum(newest) < ADDRESS_COUNT_MIN) return []
  const variable = addressVariable(address)
  const { noun } = ADDRESS_KINDS[address]
  const faults: DataFault[] = []
  const areNewestWithout = exceedsAny(WITHOUT_LIMITS, countWithout(needed), sum(needed))
  // Few of the newest members may be told by this address.
  const areAllWithout = sum(everNeeded) >= ADDRESS_COUNT_MIN && countWithout(everNeeded) === sum(everNeeded)
  const areWithout = areNewestWithout || areAllWithout
  const faulty = areNewestWithout ? needed : everNeeded
  const everCount = sum(ever)
  if (ever['no place'] === everCount)
    faults.push({
      code: `no-${address}-place`,
      detail: `none of ${counted(everCount, 'answer')} of policy administration has the place that ${variable} names`,
      isSure: areWithout || everCount >= PLACE_COUNT_MIN,
    })
  else if (areWithout)
    faults.push({
      code: `no-${address}-on-file`,
      detail: `${countWithout(faulty)} of ${counted(sum(faulty), 'member')} who are to be told by ${address} have no ${noun} on file`,
      isSure: true,
    })
  const wrong = newest['no address']
  const addressCount = newest.address + newest.repeated
  const isSure = judgeShare(wrong, addressCount)
  if (isSure) {
    const [count, looks] = addressCount > 0 ? [`${wrong} of`, 'look like no'] : ['none of', 'looks like a']
    faults.push({
      code: `no-${address}`,
      detail: `${count} ${counted(wrong + addressCount, 'value')} at the place that ${variable} names ${looks} valid ${noun}`,
      isSure,
    })
  }
  if (judgeShare(newest.repeated, newest.address, [HALF]))
    faults.push({
      code: `one-${address}`,
      detail: `${newest.repeated} of ${counted(addressCount, 'party', 'parties')} share their ${noun} with at least ${FAULTY_COUNT_MIN - 1} others`,
      isSure: true,
    })
  return faults
}
