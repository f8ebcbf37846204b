from silvers import *
def test_a(new_silver):
    s = new_silver()
    s.append(minute(0), minute(0.5, user="bob", id="x"), minute(3, type="purchase", amount=Decimal("3.10"), product="p"), minute(30), Event("n", None))
    models=[s.shipped(n) for n in ("activity_per_minute","active_users_10m","sessions","revenue_per_product_day")]
    def show(r):
        for b in r.built: print(b)
        for m in models: print(m.name, *gold_rows(s, m), sep="\n   ")
    show(s.gold(*models)); print(s.gold(*models))
    s.append(minute(5), minute(24, user="bob"))
    show(s.gold(*models))
    s.upsert(minute(100, id="x", user="ann"))
    show(s.gold(*models))
    s.delete("x")
    show(s.gold(*models))
    s.sql("call lake.system.rewrite_data_files(table => '{}', options => map('rewrite-all','true'))")
    show(s.gold(*models))
