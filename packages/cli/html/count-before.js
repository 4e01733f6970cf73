'use strict'

/** The number of the numbers in a sorted list that are smaller than a bound. @type {(numbers: ArrayLike<number>, bound: number) => number} */
function countBefore(numbers, bound) {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (numbers[middle] < bound) from = middle + 1
    else to = middle
  }
  return from
}

module.exports = { countBefore }
