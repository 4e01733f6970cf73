// Runs checks one after the other, and prints the result of each.

export class Report {
  passed = 0;
  failed = 0;

  /** @returns {Promise<unknown>} the result of `check`; `undefined` if it fails */
  async test(name, check) {
    try {
      const result = await check();
      this.passed += 1;
      console.log(`ok      ${name}`);
      return result;
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
}
