module example.com/fruit

go 1.21

require example.com/greeting v1.0.0

replace example.com/greeting => ./third_party/greeting
