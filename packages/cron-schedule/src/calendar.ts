/** Calendar arithmetic on day numbers: day 0 is 1970-01-01. No `Date`, so the host's zone cannot leak in. */

export const DAY_S = 86_400;
export const FIRST_YEAR = 1970;
/** Last year that a cron field can name. */
export const LAST_YEAR = 2099;

/** Day number of a Gregorian date; `month` is 1–12. */
export function dayNumber(year: number, month: number, day: number): number {
  // Years counted from March put the leap day last.
  const y = month <= 2 ? year - 1 : year;
  const shifted = month <= 2 ? month + 9 : month - 3;
  return (
    365 * y +
    Math.floor(y / 4) -
    Math.floor(y / 100) +
    Math.floor(y / 400) +
    Math.floor((153 * shifted + 2) / 5) +
    day -
    719_469
  );
}

/** A Gregorian date. */
export interface CivilDate {
  readonly year: number;
  /** 1–12. */
  readonly month: number;
  /** 1–31. */
  readonly day: number;
}

/** The date of a day number. */
export function civilDate(dayNo: number): CivilDate {
  const z = dayNo + 719_468;
  const era = Math.floor(z / 146_097);
  const doe = z - era * 146_097;
  const yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36_524) - Math.floor(doe / 146_096)) / 365);
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100));
  const shifted = Math.floor((5 * doy + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  return { year: yoe + era * 400 + (month <= 2 ? 1 : 0), month, day: doy - Math.floor((153 * shifted + 2) / 5) + 1 };
}

/** 28–31. */
export function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** 0 = Sunday … 6 = Saturday. */
export function weekday(dayNo: number): number {
  return (((dayNo + 4) % 7) + 7) % 7;
}
